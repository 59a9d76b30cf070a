"""From the least stress towards the most computing, as long as the I/O system is not saturated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

from penstock.schedule.allocation._base import Allocation, Allocator, Sharing
from penstock.schedule.demand import ROUNDING, Demand, fits, io_load

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


class ComputeLoadAllocator(Allocator):
    """Starts at n_sys and repeatedly makes the step that wins the most compute load.

    A step takes one application to the first count above its own, up to n_perf, that keeps I/O-load <= 1
    and does not lower its compute load. Equal gains go to the smallest count, then to file order.
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
    """Every application's next step, kept up to date as the load changes.

    A step stays the first admissible one until the load has risen so far that it does not fit, or fallen so far
    that a shorter one does. Only steps of which that is true are looked for again.
    """

    def __init__(self, sharing: Sharing) -> None:
        import numpy as np

        demands = self._demands = sharing.demands
        self._resources = sharing.resources
        self.counts = [demand.n_sys for demand in demands]
        self._stress = [demand.stress[demand.n_sys] for demand in demands]
        self._load = math.fsum(self._stress) / self._resources
        self._curves = [(np.array(demand.cpu_load), np.array(demand.stress)) for demand in demands]
        self._gain = np.full(len(demands), -math.inf)
        self._target = np.zeros(len(demands), dtype=np.int64)
        # What the step, the cheapest of the shorter ones, and the cheapest of all would add to the load.
        self._adds = np.full(len(demands), math.inf)
        self._shorter_adds = np.full(len(demands), math.inf)
        self._least_adds = np.full(len(demands), math.inf)
        for index in range(len(demands)):
            self._find(index)

    def best(self) -> int | None:
        """The application whose step gains most; equal gains go to the smallest count, then to file order."""
        import numpy as np

        outdated = (self._gain > -math.inf) & ~self._fits(self._adds) | self._fits(self._shorter_adds)
        hopeless = outdated & ~self._fits(self._least_adds)
        self._gain[hopeless] = -math.inf
        self._shorter_adds[hopeless] = self._least_adds[hopeless]
        for index in np.flatnonzero(outdated & ~hopeless):
            self._find(int(index))
        most = self._gain.max()
        if most == -math.inf:
            return None
        equal = np.flatnonzero(self._gain == most)
        return int(equal[np.argmin(self._target[equal])])

    def take(self, index: int) -> None:
        """Make an application's step."""
        count = self.counts[index] = int(self._target[index])
        self._stress[index] = self._demands[index].stress[count]
        self._load = math.fsum(self._stress) / self._resources
        self._find(index)

    def _fits(self, adds: Floats) -> npt.NDArray[np.bool_]:
        return self._load + adds <= 1 + ROUNDING

    def _find(self, index: int) -> None:
        """The first count above the present one, up to n_perf, that gains and fits."""
        cpu_load, stress = self._curves[index]
        count, last = self.counts[index], self._demands[index].n_perf + 1
        gains = cpu_load[count + 1 : last] - cpu_load[count]
        adds = (stress[count + 1 : last] - stress[count]) / self._resources
        wanted = gains >= 0
        fitting = (wanted & self._fits(adds)).nonzero()[0]
        first = int(fitting[0]) if len(fitting) else len(gains)
        found = first < len(gains)
        self._gain[index] = gains[first] if found else -math.inf
        self._target[index] = count + 1 + first
        self._adds[index] = adds[first] if found else math.inf
        self._shorter_adds[index] = adds[:first][wanted[:first]].min(initial=math.inf)
        self._least_adds[index] = adds[wanted].min(initial=math.inf)


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
