"""The online rule `idle-nodes`, with uncertain curves and a bound on slowdowns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.schedule.certainty import Certainty, Stakes, choose, told_apart
from penstock.schedule.demand import Demand, fits
from penstock.schedule.job import Job
from penstock.schedule.resource_use import Occupancy, Option, bearable, fewest_idle, options_of
from penstock.schedule.sharing import held_at
from penstock.schedule.turns import settle_in_turn
from penstock.units import counted

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


def decide_idle_nodes(
    occupancy: Occupancy, jobs: Sequence[Job], worst_slowdown: float = math.inf
) -> list[JobDecision]:
    """For each job the count with the fewest idle nodes, on the least occupied resources, given all the others.

    A count that slows the job or any other job down by more than `worst_slowdown` is left out, unless all counts
    do. The demands of the jobs must be known. The occupancy holds the jobs afterwards.
    """
    demands = [_demand(job, occupancy.resources) for job in jobs]

    def choose(index: int) -> JobDecision:
        found = _decide(occupancy, jobs[index], demands[index], worst_slowdown)
        before = occupancy.io_load
        after = before + held_at(demands[index], found.resources).stress / occupancy.resources
        return replace(found, io_load=(before, after))

    return settle_in_turn(occupancy, demands, choose)


def _demand(job: Job, resources: int) -> Demand:
    demand = job.demand(resources)
    if demand is None:
        raise ValueError(f"{job.name}: its demand is not known")
    return demand


def _decide(occupancy: Occupancy, job: Job, demand: Demand, worst_slowdown: float) -> JobDecision:
    if not demand.io_bytes > 0:
        reason = f"{job.name} moves no bytes: one resource will do"
        return JobDecision(occupancy.idlest(1), reason)
    options = tuple(options_of(occupancy, demand))
    legal, held = bearable(options, occupancy, worst_slowdown)
    certainty = _certainty(occupancy, job, demand, legal)
    chosen = fewest_idle(legal) if certainty is None else options[certainty.count - 1]
    warning = "" if held else f"; no count keeps everybody within {worst_slowdown:g} times their fastest"
    reason = _reason(job, demand, chosen, options) + warning
    resources = tuple(sorted(occupancy.idlest(chosen.count)))
    return JobDecision(resources, reason, options, certainty, warning=warning)


def placed_reason(job: Job, placed: JobDecision) -> str:
    """Why a job got its count, where a placement of the site chose the resources afterwards."""
    if not placed.options:
        return placed.reason
    here = placed.options[len(placed.resources) - 1]
    return (
        f"on {here.count} of the idlest resources the fewest nodes would be idle; as placement "
        f"{placed.placement} chooses them, {_cost(job, here, placed.options[0])}{placed.warning}"
    )


def _certainty(occupancy: Occupancy, job: Job, demand: Demand, legal: Sequence[Option]) -> Certainty | None:
    """The choice under an uncertain curve, or None if the curve was measured."""
    if job.belief is None:
        return None
    crowd, others, met = [], [], set[int]()
    total = 0.0
    for resource in occupancy.idlest(demand.limit):
        crowd.append(occupancy.load[resource])
        fresh = set(occupancy.jobs[resource]) - met
        total += math.fsum(occupancy.weights[index] for index in fresh)
        met |= fresh
        others.append(total)
    counts = tuple(told_apart([option.count for option in legal]))
    at = [count - 1 for count in counts]
    crowds, losses = tuple(crowd[place] for place in at), tuple(others[place] for place in at)
    stakes = Stakes(job.compute_nodes, demand.compute_s, demand.io_bytes, counts, crowds, losses)
    return choose(job.belief, stakes, len(crowd))


def _reason(job: Job, demand: Demand, chosen: Option, options: Sequence[Option]) -> str:
    parts = [_cost(job, chosen, options[0])]
    if chosen.count < demand.n_perf and demand.n_perf <= len(options):
        fast = options[demand.n_perf - 1]
        why = (
            f"{fast.idle_nodes:.2f} compute nodes would be idle in all, not {chosen.idle_nodes:.2f}"
            if fits(fast.io_load)
            else "the I/O system would saturate"
        )
        parts.append(f"on {demand.n_perf}, its fastest count when alone, {why}")
    return "; ".join(parts)


def _cost(job: Job, option: Option, alone: Option) -> str:
    otherwise = f" ({100 * alone.io_share:.1f} % on 1)" if option.count > 1 else ""
    return (
        f"on {counted(option.count, 'resource')} {job.name} spends {100 * option.io_share:.1f} % of its run in "
        f"I/O{otherwise}; its I/O takes {option.slowdown:.2f} times as long as at its fastest; of other jobs "
        f"{option.others_idle_nodes:.2f} compute nodes wait for it on average"
    )
