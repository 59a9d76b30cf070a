"""Ours: weigh everybody's slowdown and the machine's idle time against the crowd that each count causes.

Where `tcpu` only keeps the I/O system from saturating, this allocator predicts congestion. On average
an application meets A others on each of its resources, so that a transfer takes 1 + A times as long as
alone and the last of n transfers a little longer still. A follows from the counts, and the counts follow
from A: for each level of A the allocator finds the cheapest counts that cause no more than A, by putting
a price on crowding, and then it takes the best level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from penstock.schedule.allocation._base import Allocation, Allocator, Sharing
from penstock.schedule.demand import Demand

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

LEVELS = 24
PRICE_STEPS = 32
STRAGGLE = 0.5
"""How much longer the last of several transfers takes, in units of the spread of the crowd it may meet."""
IDLE_WEIGHT = 1.5
"""What a per cent of machine idle time is worth, in per cent of mean slowdown."""


class BalanceAllocator(Allocator):
    """Least sum of mean slowdown and machine idle time, both predicted and relative to those of n_sys.

    It needs what `tcpu` needs. Equal costs take the smallest count.
    """

    name = "balance"
    needs = frozenset({"nodes", "volume", "compute", "curve"})

    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        """The best counts over all levels of crowding."""
        import numpy as np

        table = _table(sharing.demands)
        start = np.array([demand.n_sys for demand in sharing.demands])
        highest = max(_crowd_of(table, start, sharing.resources), 1e-6) * 8
        reference = _judge(table, start, _crowd_of(table, start, sharing.resources))
        best, best_cost = start, 1 + IDLE_WEIGHT
        for level in np.geomspace(highest / 1000, highest, LEVELS):
            counts = _cheapest(table, float(level), sharing.resources, reference)
            cost = _cost(_judge(table, counts, _crowd_of(table, counts, sharing.resources)), reference)
            if cost < best_cost - 1e-12:
                best, best_cost = counts, cost
        return Allocation(tuple(int(count) for count in best))


@dataclass(frozen=True, slots=True)
class _Table:
    """Columns are counts 1 .. the largest limit; what an application may not have costs infinity."""

    nodes: Floats
    compute_s: Floats
    io_s: Floats
    slowdown: Floats
    counts: Floats
    straggle: Floats

    def crowded(self, others: float) -> tuple[Floats, Floats, Floats]:
        """Slowdown, idle nodes and resource-time for every application and count, among `others`."""
        import numpy as np

        last = 1 + others + self.straggle * math.sqrt(others)
        life = self.compute_s + self.io_s * last
        with np.errstate(invalid="ignore"):
            idle = np.where(np.isinf(life), np.inf, self.nodes * self.io_s * last / life)
            used = np.where(np.isinf(life), np.inf, self.counts * self.io_s * (1 + others) / life)
        return self.slowdown * last, idle, used


def _table(demands: Sequence[Demand]) -> _Table:
    import numpy as np

    width = max(demand.limit for demand in demands)
    io_s = np.full((len(demands), width), np.inf)
    slowdown = np.full((len(demands), width), np.inf)
    for row, demand in enumerate(demands):
        io_s[row, : demand.limit] = demand.io_s[1 : demand.limit + 1]
        bandwidth = np.array(demand.bandwidth[1 : demand.limit + 1])
        slowdown[row, : demand.limit] = demand.bandwidth[demand.n_perf] / bandwidth
    # A positive floor: an application that neither computes nor writes occupies nothing.
    compute_s = np.array([[max(demand.compute_s, 1e-12)] for demand in demands])
    nodes = np.array([[float(demand.compute_nodes)] for demand in demands])
    counts = np.arange(1.0, width + 1)
    straggle = np.array([STRAGGLE * expected_largest(n) for n in range(1, width + 1)])
    return _Table(nodes, compute_s, io_s, slowdown, counts, straggle)


def expected_largest(count: int) -> float:
    """About the expected largest of `count` standard normal draws (Blom's approximation).

    >>> round(expected_largest(1), 9), round(expected_largest(8), 2)
    (0.0, 1.43)
    """
    from statistics import NormalDist

    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25))


def _crowd_of(table: _Table, counts: Ints, resources: int) -> float:
    """The crowd that the counts cause, which is the crowd they suffer from: a fixed point, by bisection."""
    import numpy as np

    rows = np.arange(len(counts))
    others = (len(counts) - 1) / len(counts)
    low, high = 0.0, float(len(counts))
    for _ in range(40):
        middle = (low + high) / 2
        caused = float(table.crowded(middle)[2][rows, counts - 1].sum()) * others / resources
        low, high = (middle, high) if caused > middle else (low, middle)
    return high


def _cheapest(table: _Table, others: float, resources: int, reference: tuple[float, float]) -> Ints:
    """The cheapest counts that cause a crowd of at most `others`, or the least crowding ones."""
    import numpy as np

    slowdown, idle, used = table.crowded(others)
    cost = slowdown / len(slowdown) / reference[0] + IDLE_WEIGHT * idle / reference[1]
    caused = used * (len(used) - 1) / len(used) / resources
    rows = np.arange(len(cost))

    def at_price(price: float) -> Ints:
        with np.errstate(invalid="ignore"):
            chosen: Ints = np.argmin(np.where(np.isinf(cost), np.inf, cost + price * caused), axis=1)
        return chosen

    low, high = 1e-9, 1e9
    for _ in range(PRICE_STEPS):
        middle = math.sqrt(low * high)
        fits = caused[rows, at_price(middle)].sum() <= others
        low, high = (low, middle) if fits else (middle, high)
    return at_price(high) + 1


def _judge(table: _Table, counts: Ints, others: float) -> tuple[float, float]:
    """Mean slowdown and idle nodes that the counts lead to."""
    import numpy as np

    slowdown, idle, _ = table.crowded(others)
    rows = np.arange(len(counts))
    return float(slowdown[rows, counts - 1].mean()), max(float(idle[rows, counts - 1].sum()), 1e-12)


def _cost(judged: tuple[float, float], reference: tuple[float, float]) -> float:
    return judged[0] / reference[0] + IDLE_WEIGHT * judged[1] / reference[1]
