"""The multiple-choice knapsack of Bez et al.: exclusive resources that maximise the sum of bandwidths."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from penstock.schedule.allocation._base import Allocation, Allocator, Sharing
from penstock.schedule.demand import ROUNDING, Demand


class KnapsackAllocator(Allocator):
    """Each application gets exclusive resources or none; those without share one resource. The solution is exact.

    The sum of bandwidths of the exclusive users is maximal, with one resource set aside if anyone gets none. On a
    tie, in file order, each takes the smallest count, and exclusive resources are preferred to none. Exclusive ids
    ascend in file order; the shared resource is the last.
    """

    name = "mckp"
    needs = frozenset({"curve"})

    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        """The best exclusive counts, placed."""
        some_share = _best(sharing.demands, sharing.resources - 1, may_share=True)
        counts = some_share
        if len(sharing.demands) <= sharing.resources:
            exclusive = _best(sharing.demands, sharing.resources, may_share=False)
            counts = _larger(sharing.demands, exclusive, some_share)
        return Allocation(tuple(max(count, 1) for count in counts), _place(counts, sharing.resources))


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


def _place(counts: Sequence[int], resources: int) -> tuple[tuple[int, ...], ...]:
    placed, start = [], 0
    for count in counts:
        placed.append(tuple(range(start, start + count)) if count else (resources - 1,))
        start += count
    return tuple(placed)
