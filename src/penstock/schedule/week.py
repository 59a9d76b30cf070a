"""A site's own jobs, replayed with and without us: which of them do I/O, and how each rule serves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from penstock.config import validate
from penstock.schedule.advice import Rule, SiteScene
from penstock.schedule.arrivals import PHASES, Arrival, Placer, Replayed, by_rule, replay
from penstock.schedule.job import Job
from penstock.schedule.jobtrace import TraceJob
from penstock.schedule.ledger import Grant
from penstock.schedule.site import JobSection, PlatformSection, SiteSection, job_of, known_of
from penstock.schedule.slurmjob import with_hints
from penstock.schedule.study.summary import percentile

WITHOUT = "without"
UNNAMED = "(no name)"
NO_BYTES, NO_CURVE, NO_VOLUME = "moves no bytes", "no curve is known", "no volume is known"
"""Why a job does no I/O in a replay."""


@dataclass(frozen=True, slots=True)
class Matched:
    """The jobs of a trace that do I/O, their applications, and how many others there are, by reason."""

    arrivals: tuple[Arrival, ...]
    application: Mapping[str, str]
    without_io: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RuleFigures:
    """One replay in figures."""

    rule: str
    jobs: int
    mean_slowdown: float
    p95_slowdown: float
    worst_job: str
    worst_slowdown: float
    idle_nodes: float


def match_trace(jobs: Sequence[TraceJob], site: SiteSection, base: Path, stripes: int) -> Matched:
    """What each job of a trace demands, by the applications of the site and by the hints in its comment.

    The trace tells how long a job ran. It is taken to have run on `stripes` resources without congestion: the time
    that its I/O took there is no computation, and it moved no more than that time allows.
    """
    arrivals, names = [], {}
    left: dict[str, int] = {}
    known: dict[tuple[str, int, str], Job | str] = {}
    for one in jobs:
        key = (one.name, one.nodes, one.comment)
        if key not in known:
            known[key] = _demand(one, site, base)
        job = known[key]
        if isinstance(job, str):
            left[job] = left.get(job, 0) + 1
            continue
        arrivals.append(Arrival(_fit(replace(job, name=one.id), one.elapsed_s, stripes), one.start_s))
        names[one.id] = one.name or UNNAMED
    return Matched(tuple(arrivals), names, left)


def _demand(one: TraceJob, site: SiteSection, base: Path) -> Job | str:
    """The job with what is known of it, or why it does no I/O here."""
    facts, _ = with_hints(known_of(one.name, one.nodes, site) if one.name else {}, one.comment)
    if not facts:
        return "no application matches"
    identity = {"name": one.id, "compute_nodes": one.nodes}
    section = validate({"compute": 0.0, **facts, **identity}, JobSection, f"job {one.id}")
    job = replace(job_of(section, site.platform, base), belief=None)
    if job.curve is None:
        return NO_CURVE
    if job.io_bytes is None:
        return NO_VOLUME
    return job if job.io_bytes > 0 else NO_BYTES


def _fit(job: Job, elapsed_s: float, stripes: int) -> Job:
    rate = job.curve.at(min(stripes, job.curve.largest)) if job.curve else 1.0
    volume = min(job.io_bytes or 0.0, elapsed_s * rate)
    return replace(job, io_bytes=volume, compute_s=max(elapsed_s - volume / rate, 0.0))


def match_ledger(grants: Sequence[Grant], resources: int) -> Matched:
    """The jobs of a ledger whose demand is known. How long a job ran tells its compute time, if nobody else did."""
    arrivals = []
    left: dict[str, int] = {}
    for grant in grants:
        job = replace(_timed(grant), resources=())
        demand = job.demand(resources)
        if demand is not None and demand.io_bytes > 0:
            # A name may come twice in the hours of a ledger.
            arrivals.append(Arrival(job, grant.started_s))
            continue
        why = NO_BYTES if demand else _unknown_of(job)
        left[why] = 1 + left.get(why, 0)
    return Matched(tuple(arrivals), {}, left)


def _timed(grant: Grant) -> Job:
    """The job with a compute time, where its volume, its curve and its end are known."""
    job = grant.job
    if job.compute_s is not None or job.io_bytes is None or job.curve is None or grant.ended_s is None:
        return job
    return _fit(job, max(grant.ended_s - grant.started_s, 0.0), len(job.resources))


def _unknown_of(job: Job) -> str:
    if job.curve is None:
        return NO_CURVE
    return NO_VOLUME if job.io_bytes is None else "compute time is not known before it ends"


def without_us(resources: int, stripes: int, seed: int = 0) -> Placer:
    """What a file system does by itself: everybody gets `stripes` resources, drawn at random."""
    rng = Random(seed)

    def place(running: Sequence[Job], job: Job) -> tuple[int, ...]:
        largest = job.curve.largest if job.curve else stripes
        return tuple(sorted(rng.sample(range(resources), min(stripes, largest, resources))))

    return place


def play_rule(
    matched: Matched, platform: PlatformSection, rule: Rule | None, stripes: int, phases: int = PHASES
) -> Replayed:
    """Replay the jobs under a rule, or without us where it is None."""
    if rule is None:
        place = without_us(platform.resources, stripes)
    else:
        closed = frozenset(platform.unusable)
        place = by_rule(SiteScene(platform.resources, platform.compute_nodes, (), closed, {}, rule))
    return replay(matched.arrivals, platform.resources, place, phases)


def figures_of(rule: str, replayed: Replayed) -> RuleFigures:
    """The figures of a replay."""
    worst = replayed.worst
    slowdowns = [job.slowdown for job in replayed.jobs]
    return RuleFigures(
        rule=rule,
        jobs=len(slowdowns),
        mean_slowdown=replayed.mean_slowdown,
        p95_slowdown=percentile(slowdowns, 0.95) if slowdowns else 1.0,
        worst_job=worst.name if worst else "",
        worst_slowdown=worst.slowdown if worst else 1.0,
        idle_nodes=replayed.idle_nodes,
    )
