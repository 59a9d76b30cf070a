"""Why a rule chose what it chose, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from penstock.schedule.certainty import Certainty
from penstock.schedule.idle_advice import IDLEST
from penstock.schedule.job import Job
from penstock.schedule.site_rule import Chosen

MOST_NAMED = 3
REASONS = {
    "random": "{count} was drawn at random",
    "static": "{count} is the share of {job} in the machine: {nodes} of {compute_nodes} compute nodes",
    "bestbdw": "{count} is where {job} is fastest",
    "nsys": "on {count} {job} keeps the resources busy least",
    "tcpu": "{count} is as far as {job} gains compute load before the I/O system saturates",
    "mckp": "{count} of the free resources for {job} give the largest sum of bandwidths",
    "balance": "on {count}, by its own estimate, the slowdown and idle nodes of all jobs together are least",
    "idle-nodes": "on {count} the fewest compute nodes are idle",
}


def reason_for(rule: str, job: Job, count: int, compute_nodes: int) -> str:
    """The reason of an allocation rule."""
    text = REASONS[rule].format(
        count=count, job=job.name, nodes=job.compute_nodes, compute_nodes=compute_nodes
    )
    if rule == "bestbdw" and job.curve is None and job.best_count is None:
        text = f"jobs that access files as {job.name} does are mostly fastest on {count}"
    if job.io_bytes == 0:
        text = f"{job.name} moves no bytes: one resource will do"
    return text


def without_own(job: Job, any_free: bool) -> str:
    """The reason of a rule that gives everybody their own resources, for a job that shares one."""
    why = "others make more of the free resources" if any_free else "no resource is free"
    return f"{why}: {job.name} shares one"


def lacked_by(asked: str, stand_in: str, jobs: Sequence[Job]) -> str:
    """Why a rule for several jobs was replaced, for a job of which enough is known: `jobs` are the others."""
    names = ", ".join(repr(job.name) for job in jobs[:MOST_NAMED]) + (
        " ..." if len(jobs) > MOST_NAMED else ""
    )
    return f"; {asked} needs more than is known of {names}, so {stand_in} stands in"


def lacking(asked: str, chosen: Chosen) -> str:
    """What the rule of the site lacked, and what stood in for it."""
    facts = " and ".join(chosen.missing) if len(chosen.missing) < 3 else ", ".join(chosen.missing)
    unknown = "is" if len(chosen.missing) == 1 else "are"
    return f"; {asked} needs {facts}, which {unknown} not known, so {chosen.name} stands in"


def where_phrase(placement: str, resources: int, busy: bool) -> str:
    """How the resources were chosen."""
    if placement == IDLEST:
        return f"; of {resources} resources these are {'the idlest' if busy else 'all idle'}"
    return f"; placement: {placement}"


def sureness(certainty: Certainty) -> str:
    """How sure a count is under an uncertain curve, and what measuring would bring."""
    told = (
        f"Sure to {100 * certainty.sure:.0f} % that no count is more than 5 % better; its bandwidth is known to a "
        f"factor of {math.exp(certainty.spread):.2f}"
    )
    if certainty.measuring_gains is None:
        return f"{told}; measure it on {certainty.measure_on} resources first"
    return (
        f"{told}; measuring on {certainty.measure_on} resources would save {certainty.measuring_gains:.2f} idle "
        "nodes on average"
    )
