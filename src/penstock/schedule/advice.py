"""Advice for the next jobs: how many resources, which ones, and why. Running jobs are not moved."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from random import Random

from penstock.schedule.allocation import ALLOCATORS
from penstock.schedule.certainty import Certainty, fastest
from penstock.schedule.idle_advice import IDLEST, JobDecision, decide_idle_nodes, placed_reason
from penstock.schedule.job import Job
from penstock.schedule.placement import PLACERS
from penstock.schedule.reasons import lacked_by, lacking, reason_for, where_phrase, without_own
from penstock.schedule.resource_use import Occupancy, Option, option_on, options_of
from penstock.schedule.sharing import HeldShare, Sharing
from penstock.schedule.site_rule import (
    DEFAULT_ALLOCATION,
    DEFAULT_PLACEMENT,
    Chosen,
    allocation_for,
    placement_for,
)

EXCLUSIVE = "exclusive"
"""The placement of an allocation that also places, for a job that has its resources for itself ..."""
SHARED = "shared"
"""... and for one that has not."""


@dataclass(frozen=True, slots=True)
class Advice:
    """The number of resources, their ids, the rule that chose them, and why.

    `options` is empty if too little is known to compare counts. `missing` is what was not known of the job, but is
    needed by the rule of the site; `rule` is then the one that stood in.
    """

    job: str
    rule: str
    resources: tuple[int, ...]
    io_load_before: float
    io_load_after: float
    options: tuple[Option, ...]
    reason: str
    certainty: Certainty | None = None
    placement: str = IDLEST
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """How a site decides. Without a `placement` the allocation's own is used, or counting the users."""

    allocation: str = DEFAULT_ALLOCATION
    placement: str | None = None
    worst_slowdown: float = math.inf
    seed: int | None = None
    """Of what is drawn at random. None: by the names of the jobs, so that equal questions get equal answers."""

    def rng(self, jobs: Sequence[Job]) -> Random:
        """The source of randomness for a decision on `jobs`."""
        return Random("\n".join(job.name for job in jobs) if self.seed is None else self.seed)


@dataclass(frozen=True, slots=True)
class SiteScene:
    """What is there when a decision is due: the platform, the running jobs, and the rule.

    Resources that are `unusable` get no new job. `measured` is the load of resources, where it was measured.
    """

    resources: int
    compute_nodes: int
    running: Sequence[Job] = ()
    unusable: Collection[int] = ()
    measured: Mapping[int, float] = field(default_factory=dict)
    rule: Rule = Rule()

    def occupancy(self) -> Occupancy:
        """The use of the resources by the running jobs."""
        held = [job.held(self.resources) for job in self.running]
        return Occupancy(self.resources, held, self.unusable, self.measured)


def advise(scene: SiteScene, job: Job) -> Advice:
    """The resources for one job, by the site's rule or by what stands in for it."""
    return advise_together(scene, [job])[0]


def advise_together(scene: SiteScene, jobs: Sequence[Job]) -> tuple[Advice, ...]:
    """The resources for jobs that are announced together, in their order.

    Jobs of which too little is known for the site's rule are served first, by what stands in for it. The rule then
    decides on all others at once.
    """
    chosen = [allocation_for(scene.rule.allocation, job.known) for job in jobs]
    occupancy = scene.occupancy()
    busy = any(occupancy.users)
    rng = scene.rule.rng(jobs)
    decided: dict[int, JobDecision] = {}
    for name in dict.fromkeys([*(one.name for one in chosen if one.missing), scene.rule.allocation]):
        members = [index for index, one in enumerate(chosen) if one.name == name]
        if members:
            found = _decide(occupancy, [jobs[index] for index in members], name, (scene, rng))
            decided.update(zip(members, found, strict=True))
    return _advices(scene, jobs, [(decided[index], one) for index, one in enumerate(chosen)], busy)


def _decide(
    occupancy: Occupancy, jobs: Sequence[Job], name: str, how: tuple[SiteScene, Random]
) -> Sequence[JobDecision]:
    """The decision of one rule on several jobs, which are added to the occupancy."""
    scene, rng = how
    if name == "idle-nodes":
        # Where the site names a placement, only the counts are taken, and so those jobs are not here yet.
        place_here = occupancy if scene.rule.placement is None else occupancy.copy()
        found = decide_idle_nodes(place_here, jobs, scene.rule.worst_slowdown)
        if place_here is occupancy:
            return found
        placed = _place(occupancy, jobs, found, how)
        return [replace(one, reason=placed_reason(job, one)) for job, one in zip(jobs, placed, strict=True)]
    usable = occupancy.usable
    sharing, sure = _sharing(occupancy, jobs, scene.compute_nodes, usable)
    allocation = ALLOCATORS[name]().allocate(sharing, rng)
    own = _options(occupancy, sharing, jobs)
    counted = [
        JobDecision(
            tuple(range(count)), reason_for(name, job, count, scene.compute_nodes), options, certainty
        )
        for job, count, options, certainty in zip(jobs, allocation.counts, own, sure, strict=True)
    ]
    if allocation.placement is None:
        return _place(occupancy, jobs, counted, how, sharing)
    ids = [tuple(usable[index] for index in some) for some in allocation.placement]
    return _settle_own(occupancy, jobs, counted, ids, (name, scene.rule.placement))


def _settle_own(
    occupancy: Occupancy,
    jobs: Sequence[Job],
    counted: Sequence[JobDecision],
    ids: Sequence[tuple[int, ...]],
    rules: tuple[str, str | None],
) -> list[JobDecision]:
    """Settle the jobs where an allocation placed them, and say who has resources of their own."""
    allocation, placement = rules
    users = list(occupancy.users)
    any_free = any(not users[resource] for resource in occupancy.usable)
    for resource in chain.from_iterable(ids):
        users[resource] += 1
    unused = f"; {allocation} places by itself: placement {placement} is not used" if placement else ""
    made = []
    for job, one, some in zip(jobs, counted, ids, strict=True):
        alone = all(users[resource] == 1 for resource in some)
        reason = one.reason if alone or job.io_bytes == 0 else without_own(job, any_free)
        told = replace(one, reason=reason + unused)
        made += _settle(occupancy, [job], [told], [some], EXCLUSIVE if alone else SHARED)
    return made


def _place(
    occupancy: Occupancy,
    jobs: Sequence[Job],
    counted: Sequence[JobDecision],
    how: tuple[SiteScene, Random],
    sharing: Sharing | None = None,
) -> list[JobDecision]:
    """Give jobs whose counts are known their resources, by the placement of the site."""
    scene, rng = how
    rule, counts = scene.rule, [len(one.resources) for one in counted]
    if rule.placement is None and rule.allocation == "idle-nodes":
        made = []
        for job, one, count in zip(jobs, counted, counts, strict=True):
            made += _settle(occupancy, [job], [one], [tuple(sorted(occupancy.idlest(count)))], IDLEST)
        return made
    facts = frozenset[str].intersection(*(job.known for job in jobs))
    placer = placement_for(rule.placement or DEFAULT_PLACEMENT, facts)
    usable = occupancy.usable
    seen = sharing or _sharing(occupancy, jobs, scene.compute_nodes, usable)[0]
    placed = PLACERS[placer.name]().place(seen, counts, rng)
    if placer.missing:
        told = _placement_lacks(f"placement {rule.placement}", placer, jobs)
        counted = [replace(one, reason=one.reason + why) for one, why in zip(counted, told, strict=True)]
    ids = [tuple(usable[index] for index in some) for some in placed]
    return _settle(occupancy, jobs, counted, ids, placer.name)


def _placement_lacks(asked: str, placer: Chosen, jobs: Sequence[Job]) -> list[str]:
    """For each job why its placement was replaced: what is not known of it, or of which others too little is."""
    missing = [tuple(fact for fact in placer.missing if fact not in job.known) for job in jobs]
    short = [job for job, facts in zip(jobs, missing, strict=True) if facts]
    return [
        lacking(asked, Chosen(placer.name, facts)) if facts else lacked_by(asked, placer.name, short)
        for facts in missing
    ]


def _settle(
    occupancy: Occupancy,
    jobs: Sequence[Job],
    counted: Sequence[JobDecision],
    ids: Sequence[tuple[int, ...]],
    placement: str,
) -> list[JobDecision]:
    made, load = [], occupancy.io_load
    waiting: list[HeldShare] = []
    for job, one, resources in zip(jobs, counted, ids, strict=True):
        options = one.options
        moved = bool(options) and placement != IDLEST
        if moved and (demand := job.demand(occupancy.resources)) is not None:
            occupancy.add_all(waiting)
            waiting = []
            here = option_on(occupancy, demand, resources)
            options = tuple(here if other.count == here.count else other for other in options)
        held = replace(job, resources=resources).held(occupancy.resources)
        waiting.append(held)
        before, load = load, load + held.stress / occupancy.resources
        made.append(
            replace(one, resources=resources, placement=placement, options=options, io_load=(before, load))
        )
    occupancy.add_all(waiting)
    return made


def _sharing(
    occupancy: Occupancy, jobs: Sequence[Job], compute_nodes: int, usable: Sequence[int]
) -> tuple[Sharing, list[Certainty | None]]:
    """What allocators and placers see: only the usable resources, numbered from 0."""
    index_of = {resource: index for index, resource in enumerate(usable)}
    held = occupancy.running
    if len(usable) < occupancy.resources:
        held = [
            replace(one, resources=tuple(index_of[r] for r in one.resources if r in index_of)) for one in held
        ]
    demands, sure = [], []
    for job in jobs:
        likely = None
        if job.curve is None and job.best_count is None and job.belief is not None:
            likely = fastest(job.belief, len(usable))
        sure.append(likely)
        demands.append(job.known_demand(len(usable), likely.count if likely else job.best_count))
    measured = {index_of[r]: load for r, load in occupancy.measured.items() if r in index_of}
    return Sharing(len(usable), compute_nodes, demands, held, measured), sure


def _options(occupancy: Occupancy, sharing: Sharing, jobs: Sequence[Job]) -> list[tuple[Option, ...]]:
    """What every count would mean, for a job that is asked about alone."""
    demand = sharing.demands[0]
    if len(jobs) > 1 or not demand.io_bytes > 0:
        return [()] * len(jobs)
    return [tuple(options_of(occupancy, demand))]


def _advices(
    scene: SiteScene,
    jobs: Sequence[Job],
    decided: Sequence[tuple[JobDecision, Chosen]],
    busy: bool,
) -> tuple[Advice, ...]:
    advices = []
    for job, (found, rule) in zip(jobs, decided, strict=True):
        lacked = lacking(f"allocation {scene.rule.allocation}", rule) if rule.missing else ""
        where = where_phrase(found.placement, scene.resources, busy)
        advices.append(
            Advice(
                job=job.name,
                rule=rule.name,
                resources=found.resources,
                io_load_before=found.io_load[0],
                io_load_after=found.io_load[1],
                options=found.options,
                reason=found.reason + lacked + where,
                certainty=found.certainty,
                placement=found.placement,
                missing=rule.missing,
            )
        )
    return tuple(advices)
