"""The multiple-choice knapsack of Bez et al.: exclusive resources that maximise the sum of bandwidths."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from penstock.schedule.allocation._base import Allocation, Allocator
from penstock.schedule.demand import ROUNDING, Demand
from penstock.schedule.sharing import Sharing


class KnapsackAllocator(Allocator):
    """Each application gets exclusive resources or none; those without share one resource. The solution is exact.

    The sum of bandwidths of the exclusive users is maximal, with one resource set aside if anyone gets none. On a
    tie, in file order, each takes the smallest count, and exclusive resources are preferred to none. Exclusive ids
    ascend in file order; the shared resource is the last.
    """

    name = "mckp"
    needs = frozenset({"curve"})
    places = True

    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        """The best exclusive counts, placed. Running applications keep theirs; only the others are to be had."""
        users = sharing.users()
        free = [resource for resource in range(sharing.resources) if not users[resource]]
        # The one to share is the last free one. If there is none, it is the least used, and nobody gets another.
        shared = free[-1] if free else min(range(sharing.resources), key=lambda one: (users[one], -one))
        counts = _best(sharing.demands, max(len(free) - 1, 0), may_share=True)
        if len(sharing.demands) <= len(free):
            exclusive = _best(sharing.demands, len(free), may_share=False)
            counts = _larger(sharing.demands, exclusive, counts)
        return Allocation(tuple(max(count, 1) for count in counts), _place(counts, free, shared))


def _larger(demands: Sequence[Demand], first: list[int], second: list[int]) -> list[int]:
    return first if _value(demands, first) >= _value(demands, second) * (1 - ROUNDING) else second


def _value(demands: Sequence[Demand], counts: Sequence[int]) -> float:
    return sum(d.bandwidth[n] for d, n in zip(demands, counts, strict=True) if n)


def _best(demands: Sequence[Demand], capacity: int, *, may_share: bool) -> list[int]:
    """The best counts (0 for none) within `capacity`. Without a shared resource everybody must get at least one."""
    import numpy as np

    ahead = [np.zeros(capacity + 1)]
    for demand in reversed(demands):
        row = ahead[-1].copy() if may_share else np.full(capacity + 1, -np.inf)
        for count in range(1, min(demand.limit, capacity) + 1):
            np.maximum(row[count:], ahead[-1][:-count] + demand.bandwidth[count], out=row[count:])
        ahead.append(row)
    ahead.reverse()
    counts, left = [], capacity
    for demand, row, rest in zip(demands, ahead, ahead[1:], strict=False):
        target = row[left] * (1 - ROUNDING)
        options = range(1, min(demand.limit, left) + 1)
        count = next((n for n in options if demand.bandwidth[n] + rest[left - n] >= target), 0)
        counts.append(count)
        left -= count
    return counts


def _place(counts: Sequence[int], free: Sequence[int], shared: int) -> tuple[tuple[int, ...], ...]:
    placed, start = [], 0
    for count in counts:
        placed.append(tuple(free[start : start + count]) if count else (shared,))
        start += count
    return tuple(placed)
