"""Our own allocator: balances slowdown and idle nodes against the congestion that each count causes.

`tcpu` only keeps the I/O system from saturating. This allocator predicts congestion. If an application meets A others
on each of its resources on average, a transfer takes 1 + A times as long as alone, and the last of n transfers a
little longer. A depends on the counts, and the best counts depend on A. So for each level of A the allocator finds
the cheapest counts that cause at most A, by putting a price on congestion. Then it takes the best level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING

from penstock.schedule.allocation._base import Allocation, Allocator
from penstock.schedule.sharing import HeldShare, Sharing

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

LEVELS = 16
PRICE_STEPS = 24
CROWD_STEPS = 24
STRAGGLE = 0.5
"""How much longer the last of several transfers takes, in units of the spread of the crowd it may meet."""
IDLE_WEIGHT = 1.5
"""What a per cent of machine idle time is worth, in per cent of mean slowdown."""
FORBIDDEN = 1e30


class BalanceAllocator(Allocator):
    """Minimises the sum of mean slowdown and idle nodes, both predicted and relative to those of n_sys.

    It needs the same information as `tcpu`. On equal costs the smallest count wins.
    """

    name = "balance"
    needs = frozenset({"nodes", "volume", "compute", "curve"})

    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        """The best counts over all levels of crowding."""
        import numpy as np

        table = _table(sharing)
        start = np.array([demand.n_sys for demand in sharing.demands])
        crowd = table.crowd_of(start)
        reference = table.judge(start, crowd)
        best, best_cost = start, 1 + IDLE_WEIGHT
        last = start
        for level in np.geomspace(max(crowd, 1e-6) / 4, max(crowd, 1e-6) * 8, LEVELS):
            counts = table.cheapest(float(level), reference)
            if np.array_equal(counts, last):
                continue
            last = counts
            cost = _cost(table.judge(counts, table.crowd_of(counts)), reference)
            if cost < best_cost - 1e-12:
                best, best_cost = counts, cost
        return Allocation(tuple(int(count) for count in best))


@dataclass(frozen=True, slots=True)
class _Table:
    """One row per application, one column per count. `share` converts resource time into the number of others met.

    `held` are the running applications, whose counts do not change.
    """

    nodes: Floats
    compute_s: Floats
    io_s: Floats
    slowdown: Floats
    legal: npt.NDArray[np.bool_]
    counts: Floats
    straggle: Floats
    share: float
    held: _Running

    def cheapest(self, others: float, reference: tuple[float, float]) -> Ints:
        """The cheapest counts that cause at most `others`, or those with the least congestion."""
        import numpy as np

        last = 1 + others + self.straggle * math.sqrt(others)
        life = self.compute_s + self.io_s * last
        idle = self.nodes * self.io_s * last / life
        cost = self.slowdown * (last / self.members / reference[0]) + idle * (IDLE_WEIGHT / reference[1])
        cost[~self.legal] = FORBIDDEN
        caused = self.counts * self.io_s * ((1 + others) * self.share) / life
        rows = np.arange(len(cost))
        room = others - self.held.caused(others, self.share)
        low, high = 1e-5, 1e5
        cheap, dear = (np.argmin(cost + price * caused, axis=1) for price in (low, high))
        for _ in range(PRICE_STEPS):
            if np.array_equal(cheap, dear):
                # The price does not matter any more.
                break
            middle = math.sqrt(low * high)
            chosen = np.argmin(cost + middle * caused, axis=1)
            if caused[rows, chosen].sum() <= room:
                high, dear = middle, chosen
            else:
                low, cheap = middle, chosen
        cheapest: Ints = dear + 1
        return cheapest

    @property
    def members(self) -> int:
        """All applications, running or not."""
        return len(self.nodes) + len(self.held.counts)

    def crowd_of(self, counts: Ints) -> float:
        """The congestion that the counts cause, which is also what they suffer from: a fixed point, found by
        bisection.
        """
        import numpy as np

        io_s = self.io_s[np.arange(len(counts)), counts - 1]
        used_s = counts * io_s * self.share
        straggle = io_s * self.straggle[counts - 1]
        compute_s = self.compute_s[:, 0]
        low, high = 0.0, float(self.members)
        for _ in range(CROWD_STEPS):
            middle = (low + high) / 2
            life = compute_s + io_s * (1 + middle) + straggle * math.sqrt(middle)
            caused = float((used_s / life).sum()) * (1 + middle) + self.held.caused(middle, self.share)
            low, high = (middle, high) if caused > middle else (low, middle)
        return high

    def judge(self, counts: Ints, others: float) -> tuple[float, float]:
        """The mean slowdown and idle nodes of the counts with `others` on each resource."""
        import numpy as np

        chosen = np.arange(len(counts)), counts - 1
        last = 1 + others + self.straggle[counts - 1] * math.sqrt(others)
        io_s = self.io_s[chosen] * last
        idle = float((self.nodes[:, 0] * io_s / (self.compute_s[:, 0] + io_s)).sum())
        slow = float((self.slowdown[chosen] * last).sum())
        held_slow, held_idle = self.held.judge(others)
        return (slow + held_slow) / self.members, max(idle + held_idle, 1e-12)


@dataclass(frozen=True, slots=True)
class _Running:
    """The running applications, one entry each."""

    nodes: Floats
    compute_s: Floats
    io_s: Floats
    slowdown: Floats
    counts: Floats
    straggle: Floats

    def caused(self, others: float, share: float) -> float:
        """The congestion they cause while they meet `others`."""
        life = self.compute_s + self.io_s * (1 + others + self.straggle * math.sqrt(others))
        return float((self.counts * self.io_s / life).sum()) * (1 + others) * share

    def judge(self, others: float) -> tuple[float, float]:
        """The sum of their slowdowns, and their idle nodes."""
        last = 1 + others + self.straggle * math.sqrt(others)
        io_s = self.io_s * last
        return float((self.slowdown * last).sum()), float((self.nodes * io_s / (self.compute_s + io_s)).sum())


def _cost(judged: tuple[float, float], reference: tuple[float, float]) -> float:
    return judged[0] / reference[0] + IDLE_WEIGHT * judged[1] / reference[1]


def _table(sharing: Sharing) -> _Table:
    import numpy as np

    demands = sharing.demands
    width = max(demand.limit for demand in demands)
    io_s = np.zeros((len(demands), width))
    slowdown = np.ones((len(demands), width))
    for row, demand in enumerate(demands):
        io_s[row, : demand.limit] = demand.io_s[1 : demand.limit + 1]
        bandwidth = np.array(demand.bandwidth[1 : demand.limit + 1])
        slowdown[row, : demand.limit] = demand.bandwidth[demand.n_perf] / bandwidth
    counts = np.arange(1.0, width + 1)
    members = len(demands) + len(sharing.held)
    return _Table(
        nodes=_column([demand.compute_nodes for demand in demands]),
        # A small positive value, because an application that neither computes nor writes uses nothing.
        compute_s=_column([max(demand.compute_s, 1e-12) for demand in demands]),
        io_s=io_s,
        slowdown=slowdown,
        legal=counts <= _column([demand.limit for demand in demands]),
        counts=counts,
        straggle=np.array([STRAGGLE * expected_largest(n) for n in range(1, width + 1)]),
        share=(members - 1) / members / sharing.resources,
        held=_running(sharing.held),
    )


def _running(held: Sequence[HeldShare]) -> _Running:
    import numpy as np

    def row(values: Iterable[float]) -> Floats:
        return np.fromiter(values, dtype=float)

    return _Running(
        nodes=row(one.compute_nodes for one in held),
        compute_s=row(max(one.compute_s, 1e-12) for one in held),
        io_s=row(one.io_s for one in held),
        slowdown=row(one.slowdown for one in held),
        counts=row(one.count for one in held),
        straggle=row(STRAGGLE * expected_largest(one.count) for one in held),
    )


def _column(values: Sequence[float]) -> Floats:
    import numpy as np

    return np.array(values, dtype=float)[:, None]


def expected_largest(count: int) -> float:
    """About the expected largest of `count` standard normal draws (Blom's approximation).

    >>> round(expected_largest(1), 9), round(expected_largest(8), 2)
    (0.0, 1.43)
    """
    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25))
