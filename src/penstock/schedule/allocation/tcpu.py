"""Starts at the least stress and increases compute load as long as the I/O system is not saturated."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

from penstock.schedule.allocation._base import Allocation, Allocator
from penstock.schedule.demand import ROUNDING, Demand, fits, io_load
from penstock.schedule.sharing import Sharing

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

NEAR = 12
"""So many counts are looked at one by one before all the others are at once."""
SUMMING = 1e-9
"""More than rounding can add up to over a million steps; nearer to saturation, sums are exact."""


class ComputeLoadAllocator(Allocator):
    """Starts at n_sys and repeatedly takes the step that gains the most compute load.

    A step moves one application to the first higher count, up to n_perf, that keeps I/O-load <= 1 and does not lower
    its compute load. On equal gains the smallest count wins, then file order.
    """

    name = "tcpu"
    needs = frozenset({"nodes", "volume", "compute", "curve"})

    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        """Step by step from n_sys, until no step is left."""
        steps = _Steps(sharing)
        while (index := steps.best()) is not None:
            steps.take(index)
        return Allocation(tuple(steps.counts))


class _Steps:
    """The next step of every application, updated as the load changes.

    A step stays valid until the load has risen so far that it no longer fits, or fallen so far that a shorter one
    fits. Only such steps are searched again; they are on top of two heaps. A heap entry is valid while its
    application's version has not changed.
    """

    def __init__(self, sharing: Sharing) -> None:
        import numpy as np

        self._demands = demands = sharing.demands
        self._resources = sharing.resources
        self._curves = [(np.array(demand.cpu_load), np.array(demand.stress)) for demand in demands]
        held = sharing.held_stress
        self.counts = _far_from_saturation(demands, self._curves, self._resources, held)
        stresses = (demand.stress[n] for demand, n in zip(demands, self.counts, strict=True))
        self._stress = math.fsum((held, *stresses))
        self._lost = 0.0
        self._versions = [0] * len(demands)
        # One heap by gain, count and file order; the other by the load that a step adds, or that the cheapest shorter
        # one would.
        self._gains: list[tuple[float, int, int, int]] = []
        self._adds: list[tuple[float, int, int]] = []
        self._shorter: list[tuple[float, int, int]] = []
        for index in range(len(demands)):
            self._find(index)

    def best(self) -> int | None:
        """The application whose step gains most; equal gains go to the smallest count, then to file order."""
        while self._adds and not self._fits(-self._adds[0][0]):
            self._again(*heapq.heappop(self._adds)[1:])
        while self._shorter and self._fits(self._shorter[0][0]):
            self._again(*heapq.heappop(self._shorter)[1:])
        while self._gains and self._versions[self._gains[0][2]] != self._gains[0][3]:
            heapq.heappop(self._gains)
        return self._gains[0][2] if self._gains else None

    def take(self, index: int) -> None:
        """Make an application's step, the one `best` named."""
        stress = self._demands[index].stress
        for change in (-stress[self.counts[index]], stress[self._gains[0][1]]):
            # Neumaier's summation keeps the rounding error, which is as precise as adding everything up again.
            total = self._stress + change
            large, small = (
                (self._stress, change) if abs(self._stress) >= abs(change) else (change, self._stress)
            )
            self._lost += (large - total) + small
            self._stress = total
        self.counts[index] = self._gains[0][1]
        self._find(index)

    def _fits(self, adds: float) -> bool:
        return fits(self._load + adds)

    @property
    def _load(self) -> float:
        return (self._stress + self._lost) / self._resources

    def _again(self, index: int, version: int) -> None:
        if self._versions[index] == version:
            self._find(index)

    def _find(self, index: int) -> None:
        """Look for the first count above the present one, up to n_perf, that gains and fits."""
        self._versions[index] += 1
        version = self._versions[index]
        target, cheapest = self._near(index)
        if target is None:
            target, cheapest = self._anywhere(index)
        if cheapest < math.inf:
            heapq.heappush(self._shorter, (cheapest, index, version))
        if target is not None:
            demand, count = self._demands[index], self.counts[index]
            adds = (demand.stress[target] - demand.stress[count]) / self._resources
            gain = demand.cpu_load[target] - demand.cpu_load[count]
            heapq.heappush(self._gains, (-gain, target, index, version))
            heapq.heappush(self._adds, (-adds, index, version))

    def _near(self, index: int) -> tuple[int | None, float]:
        """The step, where it is a short one, and the least that any shorter step that gains would add."""
        demand, count = self._demands[index], self.counts[index]
        cpu_load, stress, cheapest, load = demand.cpu_load, demand.stress, math.inf, self._load
        for target in range(count + 1, min(count + NEAR, demand.n_perf) + 1):
            if cpu_load[target] >= cpu_load[count]:
                adds = (stress[target] - stress[count]) / self._resources
                if fits(load + adds):
                    return target, cheapest
                cheapest = min(cheapest, adds)
        return None, math.inf

    def _anywhere(self, index: int) -> tuple[int | None, float]:
        """The same for a step of any length, all counts at once."""
        cpu_load, stress = self._curves[index]
        count, last = self.counts[index], self._demands[index].n_perf + 1
        wanted = cpu_load[count + 1 : last] - cpu_load[count] >= 0
        adds = (stress[count + 1 : last] - stress[count]) / self._resources
        fitting = (wanted & (self._load + adds <= 1 + ROUNDING)).nonzero()[0]
        first = int(fitting[0]) if len(fitting) else None
        cheapest = float(adds[:first][wanted[:first]].min(initial=math.inf))
        return None if first is None else count + 1 + first, cheapest


def _far_from_saturation(
    demands: Sequence[Demand], curves: Sequence[tuple[Floats, Floats]], resources: int, held: float
) -> list[int]:
    """The counts after all steps that come before any step could fail to fit.

    While everything fits, each application moves from one new maximum of compute load to the next, whatever the
    others do. So the steps of all can be sorted at once. A step with more gain than its predecessor follows it
    immediately, so it is sorted by the smallest gain on the way to it.
    """
    import numpy as np

    counts = [demand.n_sys for demand in demands]
    ways = [
        _climb(cpu_load, demand.n_sys, demand.n_perf)
        for demand, (cpu_load, _) in zip(demands, curves, strict=True)
    ]
    gains = [np.diff(cpu_load[way]) for way, (cpu_load, _) in zip(ways, curves, strict=True)]
    adds = np.concatenate([np.diff(stress[way]) for way, (_, stress) in zip(ways, curves, strict=True)])
    if not len(adds):
        return counts
    least = [np.minimum.accumulate(gain) for gain in gains]
    held_up = [
        np.maximum.accumulate(np.where(gain == low, way[1:], 0))
        for gain, low, way in zip(gains, least, ways, strict=True)
    ]
    owner = np.repeat(np.arange(len(demands)), [len(gain) for gain in gains])
    order = np.lexsort((np.concatenate(held_up), -np.concatenate(least)))
    adds = adds[order] / resources
    first = math.fsum((held, *(demand.stress[demand.n_sys] for demand in demands))) / resources
    load = first + np.concatenate(([0.0], np.cumsum(adds[:-1])))
    most_to_come = np.maximum.accumulate(adds[::-1])[::-1]
    crowded = np.flatnonzero(load + most_to_come > 1 - SUMMING)
    taken = order[: crowded[0]] if len(crowded) else order
    steps = np.bincount(owner[taken], minlength=len(demands))
    return [int(way[number]) for way, number in zip(ways, steps, strict=True)]


def _climb(cpu_load: Floats, first: int, last: int) -> npt.NDArray[np.intp]:
    """The counts from `first` to `last` at which the compute load reaches a new maximum."""
    import numpy as np

    part = cpu_load[first : last + 1]
    return first + np.flatnonzero(part >= np.maximum.accumulate(part))


class PrintedComputeLoadAllocator(Allocator):
    """Algorithm 1 exactly as printed, with its mistake: the gain is relative to the count tried just before.

    On curves that fall and rise again this accepts a count that is worse than the present one.
    """

    name = "tcpu-as-printed"
    needs = ComputeLoadAllocator.needs

    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        """Step by step from n_sys, until no step is left."""
        counts = [demand.n_sys for demand in sharing.demands]
        while True:
            load = (
                io_load(sharing.demands, counts, sharing.resources) + sharing.held_stress / sharing.resources
            )
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
