"""Generates job traces for a site: as long as wanted, in the formats that `study` reads."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random

from penstock.errors import UsageError
from penstock.schedule.jobtrace import SACCT_FIELDS, TraceJob

DAY_S = 86400.0
WORKING_HOURS = (8.0, 18.0)
DAY_WEIGHT = 3.0
"""So many more jobs are submitted in an hour of the day than in one of the night."""
FIRST_MOMENT_S = 1_790_000_000
LEAST_S, MOST_S = 60.0, 48 * 3600.0


@dataclass(frozen=True, slots=True)
class TracePlan:
    """What to generate: jobs of the given applications, and a share of others that no application matches."""

    jobs: int
    days: float
    compute_nodes: int
    applications: tuple[str, ...]
    others: float = 0.3
    usage: float = 0.7
    """The share of the machine that the jobs ask for, on average."""

    def __post_init__(self) -> None:
        if self.jobs < 1 or self.days <= 0:
            raise UsageError(f"{self.jobs} jobs in {self.days:g} days: both must be more than nothing")


def generate_trace(plan: TracePlan, rng: Random) -> tuple[TraceJob, ...]:
    """Jobs in the order of their starts; equal random states give equal traces.

    Submissions follow the hours of the day, sizes and run times are log-normal. A job starts in its turn, as soon as
    its nodes are free, so that no more nodes are in use than there are.
    """
    moments = sorted(_moment(plan.days, rng) for _ in range(plan.jobs))
    typical_s = 0.6 * plan.usage * plan.days * DAY_S * plan.compute_nodes / plan.jobs
    wanted = []
    for number, submit_s in enumerate(moments):
        elapsed_s = min(max(rng.lognormvariate(math.log(1800.0), 1.0), LEAST_S), MOST_S)
        size = rng.lognormvariate(math.log(max(typical_s / 2970.0, 1.0)), 1.0)
        nodes = min(max(round(size), 1), max(plan.compute_nodes // 4, 1))
        other = not plan.applications or rng.random() < plan.others
        name = f"job{rng.randint(1, 40)}" if other else rng.choice(plan.applications)
        user = f"user{rng.randint(1, 30)}"
        wanted.append(TraceJob(str(number + 1), name, nodes, submit_s, round(elapsed_s), user))
    return tuple(_in_turn(wanted, plan.compute_nodes))


def _moment(days: float, rng: Random) -> float:
    while True:
        moment_s = rng.uniform(0.0, days * DAY_S)
        hour = moment_s % DAY_S / 3600.0
        if WORKING_HOURS[0] <= hour < WORKING_HOURS[1] or rng.random() < 1 / DAY_WEIGHT:
            return moment_s


def _in_turn(jobs: Sequence[TraceJob], compute_nodes: int) -> Iterator[TraceJob]:
    """First come, first served: nobody overtakes."""
    free, now_s = compute_nodes, 0.0
    ends: list[tuple[float, int]] = []
    for job in jobs:
        now_s = max(now_s, job.start_s)
        while ends and (ends[0][0] <= now_s or free < job.nodes):
            end_s, nodes = heapq.heappop(ends)
            now_s, free = max(now_s, end_s), free + nodes
        free -= job.nodes
        start_s = float(math.ceil(now_s))
        heapq.heappush(ends, (start_s + job.elapsed_s, job.nodes))
        yield TraceJob(job.id, job.name, job.nodes, start_s, job.elapsed_s, job.user)


def sacct_text(jobs: Sequence[TraceJob]) -> str:
    """The jobs as `sacct --parsable2` prints them."""
    lines = ["|".join(SACCT_FIELDS)]
    for job in jobs:
        start = datetime.fromtimestamp(FIRST_MOMENT_S + job.start_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        cells = (job.id, job.name, job.user, str(job.nodes), start, _clock(job.elapsed_s), "COMPLETED", "")
        lines.append("|".join(cells))
    return "\n".join(lines) + "\n"


def swf_text(jobs: Sequence[TraceJob], compute_nodes: int) -> str:
    """The jobs in the Standard Workload Format. Names become numbers of executables, in the order they come."""
    programs: dict[str, int] = {}
    lines = [f"; MaxNodes: {compute_nodes}", f"; MaxProcs: {compute_nodes}"]
    rows = []
    for job in jobs:
        program = programs.setdefault(job.name, len(programs) + 1)
        user = int("".join(filter(str.isdigit, job.user)) or -1)
        head = f"{job.id} {job.start_s:.0f} 0 {job.elapsed_s:.0f} {job.nodes} -1 -1 {job.nodes} -1 -1 1"
        rows.append(f"{head} {user} -1 {program} -1 -1 -1 -1")
    lines += [f"; Note: exe{number} is {name}" for name, number in programs.items()]
    return "\n".join(lines + rows) + "\n"


def _clock(seconds: float) -> str:
    days, rest = divmod(round(seconds), 86400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock
