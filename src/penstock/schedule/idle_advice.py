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
    """The resources for one job, why, what other counts would do, how sure the choice is, and how it was placed."""

    resources: tuple[int, ...]
    reason: str
    options: tuple[Option, ...] = ()
    certainty: Certainty | None = None
    placement: str = IDLEST


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
    reason = _reason(job, demand, chosen, options)
    if not held:
        reason += f"; no count keeps everybody within {worst_slowdown:g} times their fastest"
    return JobDecision(tuple(sorted(occupancy.order[: chosen.count])), reason, options, certainty)


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
    parts = [
        f"on {chosen.count} {job.name} spends {100 * chosen.io_share:.1f} % of its life in I/O, "
        f"{chosen.slowdown:.2f} times its fastest, and others lose {chosen.others_idle_nodes:.2f} nodes"
    ]
    if chosen.count > 1:
        one = options[0]
        parts.append(f"on 1 it would be {100 * one.io_share:.1f} %")
    if chosen.count < demand.n_perf and demand.n_perf <= len(options):
        fast = options[demand.n_perf - 1]
        why = "saturate the system" if not fits(fast.io_load) else f"cost {fast.idle_nodes:.2f} nodes in all"
        parts.append(f"its fastest count, {demand.n_perf}, would {why}, not {chosen.idle_nodes:.2f}")
    return "; ".join(parts)
