"""Simulates a schedule and computes the metrics of section III-C, exactly or in time steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from penstock.schedule.application import ApplicationSet
from penstock.schedule.demand import Demand, demands_of
from penstock.schedule.placement import Placement

if TYPE_CHECKING:
    from penstock.schedule.fluid import Floats, Ints, Result

    Arrays = tuple[Ints, Floats, Floats, Ints, Ints]

Until = Literal["all", "first"]


@dataclass(frozen=True, slots=True)
class Experience:
    """The result for one application. Its slowdown is the sum of two causes; it is 1 if no bytes moved."""

    io_s: float
    moved_bytes: float
    end_s: float | None
    io_slowdown: float
    io_slowdown_allocation: float
    io_slowdown_congestion: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """A whole run over [0, horizon_s]; `events` counts events, or steps of the time-stepped run."""

    horizon_s: float
    experiences: tuple[Experience, ...]
    busy_s: tuple[float, ...]
    machine_idle_time: float
    events: int

    @property
    def mean_io_slowdown(self) -> float:
        """Over all applications, whatever their size."""
        return math.fsum(one.io_slowdown for one in self.experiences) / len(self.experiences)

    @property
    def max_io_slowdown(self) -> float:
        """The worst one."""
        return max(one.io_slowdown for one in self.experiences)

    @property
    def mean_allocation(self) -> float:
        """The part of the mean slowdown that is due to having other than n_perf resources."""
        return math.fsum(one.io_slowdown_allocation for one in self.experiences) / len(self.experiences)

    @property
    def io_spread(self) -> float:
        """How unevenly the resources are used: the largest minus the smallest busy share."""
        return (max(self.busy_s) - min(self.busy_s)) / self.horizon_s if self.horizon_s > 0 else 0.0


def simulate(
    workload: ApplicationSet, placement: Placement, until: Until = "all", step_s: float | None = None
) -> Outcome:
    """Simulate `workload` as placed: exactly, or in steps of `step_s` if given.

    `all` runs every application to its end. `first` stops when the first one ends, but not before each has finished
    one phase. The count of an application is the number of its resources.
    """
    return play(workload, demands_of(workload), placement, until, step_s)


def play(
    workload: ApplicationSet,
    demands: Sequence[Demand],
    placement: Placement,
    until: Until,
    step_s: float | None = None,
) -> Outcome:
    """Like `simulate`, for callers that already have the demands."""
    arrays = _arrays(workload, demands, placement)
    if step_s is None:
        from penstock.schedule.fluid import run_fluid

        result = run_fluid(workload.resources, *arrays, until == "first")
    else:
        from penstock.schedule.stepped import run_stepped

        result = run_stepped(workload.resources, *arrays, until == "first", step_s)
    return _outcome(workload, demands, placement, result)


def _arrays(workload: ApplicationSet, demands: Sequence[Demand], placement: Placement) -> Arrays:
    import numpy as np

    compute_s: list[float] = []
    work_s: list[float] = []
    for application, demand, ids in zip(workload.applications, demands, placement, strict=True):
        bandwidth = demand.bandwidth[len(ids)]
        compute_s.extend(phase.compute_s for phase in application.phases)
        work_s.extend(phase.io_bytes / bandwidth for phase in application.phases)
    phases = [len(application.phases) for application in workload.applications]
    return (
        np.cumsum([0, *phases]),
        np.array(compute_s, dtype=float),
        np.array(work_s, dtype=float),
        np.cumsum([0, *(len(ids) for ids in placement)]),
        np.array([resource for ids in placement for resource in ids], dtype=np.int64),
    )


def _outcome(
    workload: ApplicationSet, demands: Sequence[Demand], placement: Placement, result: Result
) -> Outcome:
    io_s, moved_s, end_s, busy_s, horizon_s, events = result
    experiences = tuple(
        _experience(demand, len(ids), float(io), float(moved), float(end))
        for demand, ids, io, moved, end in zip(demands, placement, io_s, moved_s, end_s, strict=True)
    )
    nodes = (demand.compute_nodes for demand in demands)
    idle = math.fsum(one.io_s * count for one, count in zip(experiences, nodes, strict=True))
    machine = horizon_s * workload.compute_nodes
    busy = tuple(float(value) for value in busy_s)
    return Outcome(float(horizon_s), experiences, busy, idle / machine if machine > 0 else 0.0, int(events))


def _experience(demand: Demand, count: int, io_s: float, moved_s: float, end_s: float) -> Experience:
    end = None if math.isnan(end_s) else end_s
    # A transfer that starts at the very end has moved nothing, apart from rounding.
    if not (moved_s > 0 and io_s > 0):
        return Experience(io_s, 0.0, end, 1.0, 1.0, 0.0)
    best, own = demand.bandwidth[demand.n_perf], demand.bandwidth[count]
    slowdown, allocation = io_s * best / (moved_s * own), best / own
    return Experience(io_s, moved_s * own, end, slowdown, allocation, slowdown - allocation)
