"""The demand of one application at each number of resources, and the I/O-load of a whole allocation.

Times are without congestion. Values that are equal up to rounding count as equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.errors import DataError
from penstock.schedule.application import Application, ApplicationSet

ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Demand:
    """For each count n (index 0 is unused): bandwidth, I/O time, I/O-stress, and the compute load gained.

    `limit` is the largest count the application may get: bounded by its curve and the platform, and 1 if it moves no
    bytes. `n_perf` is the smallest count with the highest bandwidth, `n_sys` the smallest with the least stress.
    """

    limit: int
    compute_nodes: int
    compute_s: float
    io_bytes: float
    bandwidth: tuple[float, ...]
    io_s: tuple[float, ...]
    stress: tuple[float, ...]
    cpu_load: tuple[float, ...]
    n_perf: int
    n_sys: int

    def io_ratio(self, count: int) -> float:
        """The share of its congestion-free run time that the application spends in I/O on `count` resources."""
        return _ratio(self.io_s[count], self.compute_s)


def demand_of(application: Application, resources: int) -> Demand:
    """The demand of `application` on a platform of `resources` I/O resources."""
    volume, compute_s = application.io_bytes, application.compute_s
    ceiling = min(application.curve.largest, resources)
    limit = ceiling if volume > 0 else 1
    nodes = application.compute_nodes
    bandwidth = (math.nan, *application.curve.up_to(ceiling))
    io_s = (math.nan, *[volume / one for one in bandwidth[1:]])
    if not math.isfinite(max(io_s[1:]) + compute_s):
        raise DataError(
            f"{application.name}: {volume:g} bytes at {min(bandwidth[1:]):g} a second take too long"
        )
    shares = [one / (one + compute_s) if one > 0 else 0.0 for one in io_s[1:]]
    stress = (math.nan, *[n * share for n, share in enumerate(shares, 1)])
    cpu_load = (math.nan, *[nodes * _ratio(compute_s, one) for one in io_s[1:]])
    return Demand(
        limit=limit,
        compute_nodes=application.compute_nodes,
        compute_s=compute_s,
        io_bytes=volume,
        bandwidth=bandwidth,
        io_s=io_s,
        stress=stress,
        cpu_load=cpu_load,
        n_perf=_first_least([-value for value in bandwidth[1 : limit + 1]]),
        n_sys=_first_least(stress[1 : limit + 1]),
    )


def demands_of(workload: ApplicationSet) -> tuple[Demand, ...]:
    """Every application's demand, in file order."""
    return tuple(demand_of(application, workload.resources) for application in workload.applications)


def io_load(demands: Sequence[Demand], counts: Sequence[int], resources: int) -> float:
    """I/O-load of an allocation: the mean I/O time it asks of a resource per unit of time."""
    return math.fsum(d.stress[n] for d, n in zip(demands, counts, strict=True)) / resources


def fits(load: float) -> bool:
    """Whether a system under this I/O-load is not saturated: load <= 1, up to rounding."""
    return load <= 1 + ROUNDING


def _ratio(part: float, rest: float) -> float:
    return part / (part + rest) if part > 0 else 0.0


def _first_least(values: Sequence[float]) -> int:
    least = min(values)
    bound = least + abs(least) * ROUNDING
    return 1 + next(index for index, value in enumerate(values) if value <= bound)
