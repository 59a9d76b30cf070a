"""The online rule `idle-nodes` for one job, with uncertain curves and a bound on slowdowns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.schedule.certainty import Certainty, Stakes, choose
from penstock.schedule.demand import Demand, fits
from penstock.schedule.job import Job
from penstock.schedule.resource_use import Occupancy, Option, bearable, fewest_idle, options_of

IDLEST = "idlest"


@dataclass(frozen=True, slots=True)
class JobDecision:
    """The resources for one job, why, what other counts would do, how sure the choice is, and how it was placed.

    `options` are on the least occupied resources, but that of the chosen count is on those that the job got.
    `io_load` is that of the system before and after the job. `warning` is a part of `reason` that holds wherever
    the job is placed.
    """

    resources: tuple[int, ...]
    reason: str
    options: tuple[Option, ...] = ()
    certainty: Certainty | None = None
    placement: str = IDLEST
    io_load: tuple[float, float] = (0.0, 0.0)
    warning: str = ""


def decide_idle_nodes(occupancy: Occupancy, job: Job, worst_slowdown: float = math.inf) -> JobDecision:
    """The count with the fewest idle nodes, on the least occupied resources. The job's demand must be known.

    A count that slows the job or any running job down by more than `worst_slowdown` is left out, unless all counts
    do.
    """
    demand = job.demand(occupancy.resources)
    if demand is None:
        raise ValueError(f"{job.name}: its demand is not known")
    if not demand.io_bytes > 0:
        reason = f"{job.name} moves no bytes: one resource will do"
        return JobDecision(tuple(occupancy.order[:1]), reason)
    options = tuple(options_of(occupancy, demand))
    legal, held = bearable(options, occupancy, worst_slowdown)
    certainty = _certainty(occupancy, job, demand, legal)
    chosen = fewest_idle(legal) if certainty is None else options[certainty.count - 1]
    warning = "" if held else f"; no count keeps everybody within {worst_slowdown:g} times their fastest"
    reason = _reason(job, demand, chosen, options) + warning
    resources = tuple(sorted(occupancy.order[: chosen.count]))
    return JobDecision(resources, reason, options, certainty, warning=warning)


def placed_reason(job: Job, placed: JobDecision) -> str:
    """Why a job got its count, where a placement of the site chose the resources afterwards."""
    if not placed.options:
        return placed.reason
    here = placed.options[len(placed.resources) - 1]
    return (
        f"on {here.count} of the idlest resources the fewest nodes would be idle; on those of placement "
        f"{placed.placement} {_cost(job, here)}{placed.warning}"
    )


def _certainty(occupancy: Occupancy, job: Job, demand: Demand, legal: Sequence[Option]) -> Certainty | None:
    """The choice under an uncertain curve, or None if the curve was measured."""
    if job.belief is None:
        return None
    width = min(demand.limit, len(occupancy.order))
    crowd = tuple(occupancy.load[occupancy.order[count]] for count in range(width))
    met: set[int] = set()
    others = []
    for resource in occupancy.order[:width]:
        met.update(occupancy.jobs[resource])
        others.append(math.fsum(occupancy.weights[index] for index in met))
    stakes = Stakes(job.compute_nodes, demand.compute_s, demand.io_bytes, crowd, tuple(others))
    return choose(job.belief, stakes, [option.count for option in legal])


def _reason(job: Job, demand: Demand, chosen: Option, options: Sequence[Option]) -> str:
    parts = [f"on {chosen.count} {_cost(job, chosen)}"]
    if chosen.count > 1:
        one = options[0]
        parts.append(f"on 1 it would be {100 * one.io_share:.1f} %")
    if chosen.count < demand.n_perf and demand.n_perf <= len(options):
        fast = options[demand.n_perf - 1]
        why = "saturate the system" if not fits(fast.io_load) else f"cost {fast.idle_nodes:.2f} nodes in all"
        parts.append(f"its fastest count, {demand.n_perf}, would {why}, not {chosen.idle_nodes:.2f}")
    return "; ".join(parts)


def _cost(job: Job, option: Option) -> str:
    return (
        f"{job.name} spends {100 * option.io_share:.1f} % of its life in I/O, "
        f"{option.slowdown:.2f} times its fastest, and others lose {option.others_idle_nodes:.2f} nodes"
    )
