"""From the least stress towards the most computing, as long as the I/O system is not saturated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from penstock.schedule.allocation._base import Allocation, Allocator, Sharing
from penstock.schedule.demand import Demand, fits, io_load


class ComputeLoadAllocator(Allocator):
    """Starts at n_sys and repeatedly makes the step that wins the most compute load.

    A step takes one application to the first count above its own, up to n_perf, that keeps I/O-load <= 1
    and does not lower its compute load. Equal gains go to the smallest count, then to file order.
    """

    name = "tcpu"
    needs = frozenset({"nodes", "volume", "compute", "curve"})

    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        """Step by step from n_sys, until no step is left."""
        counts = [demand.n_sys for demand in sharing.demands]
        while True:
            load = io_load(sharing.demands, counts, sharing.resources)
            best = (-math.inf, 0, -1)
            for index, demand in enumerate(sharing.demands):
                step = _step(demand, counts[index], load, sharing.resources)
                if step is not None and (step[0], -step[1]) > (best[0], -best[1]):
                    best = (*step, index)
            if best[2] < 0:
                return Allocation(tuple(counts))
            counts[best[2]] = best[1]


def _step(demand: Demand, current: int, load: float, resources: int) -> tuple[float, int] | None:
    """The gain and the count of the next admissible step of one application."""
    for count in range(current + 1, demand.n_perf + 1):
        gain = demand.cpu_load[count] - demand.cpu_load[current]
        if gain >= 0 and fits(load + (demand.stress[count] - demand.stress[current]) / resources):
            return gain, count
    return None


class PrintedComputeLoadAllocator(Allocator):
    """Algorithm 1 to the letter, with its slip: a gain is measured against the count tried just before.

    On curves that fall and rise again this accepts a count that is worse than the one it leaves.
    """

    name = "tcpu-as-printed"
    needs = ComputeLoadAllocator.needs

    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        """Step by step from n_sys, until no step is left."""
        counts = [demand.n_sys for demand in sharing.demands]
        while True:
            load = io_load(sharing.demands, counts, sharing.resources)
            tried = [
                _printed(d, n, load, sharing.resources) for d, n in zip(sharing.demands, counts, strict=True)
            ]
            index = _first_largest([difference for difference, _ in tried])
            if tried[index][0] < 0:
                return Allocation(tuple(counts))
            counts[index] = tried[index][1]


def _printed(demand: Demand, current: int, load: float, resources: int) -> tuple[float, int]:
    difference, last, count = -1.0, current, current
    while count != demand.n_perf and difference < 0:
        count += 1
        if fits(load + (demand.stress[count] - demand.stress[current]) / resources):
            difference, last = demand.cpu_load[count] - demand.cpu_load[last], count
    return difference, last


def _first_largest(values: Sequence[float]) -> int:
    return max(range(len(values)), key=lambda index: (values[index], -index))
