"""Runs policies in described worlds beside the default and the best static setting: one row per world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from penstock.errors import UsageError
from penstock.evaluate.lab import Lab
from penstock.evaluate.nudge import NUDGE
from penstock.evaluate.request import BEST_STATIC, Terms
from penstock.evaluate.search import DEFAULT, Race, Round, race
from penstock.evaluate.simulated import Share
from penstock.evaluate.trial import WARMUP_S, Measured, Trial, perform
from penstock.knobs import Setting
from penstock.train.worlds import DescribedWorld

# A job, or one direction of a target, with fewer requests at the default is not judged.
LEAST_REQUESTS = 200
# The best static setting must leave every job at least this share of its throughput at the default.
LEAST_SHARE = 0.8
# In short runs a job may lose more by chance. A setting stays in the race if no job loses more than this.
SHORT_LEAST_SHARE = 0.7
LONG_RUN_S = 20.0
# The rounds of the search for a world of affordable cost, and how far they may be stretched or shortened.
ROUNDS = (Round(99, 4.0, 5.0), Round(24, WARMUP_S, 12.0), Round(8, WARMUP_S, 30.0), Round(3, WARMUP_S, 60.0))
AFFORDABLE_EVENTS = 1e8
STRETCH = (0.25, 2.0)


@dataclass(frozen=True, slots=True)
class Lot:
    """The result of one world under one policy or setting: the run, and its jobs in the order of the scenario."""

    run: Measured
    jobs: tuple[Share, ...]
    setting: Setting | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One world: its runs at the default, at the best static setting, and under each policy, a run for each seed."""

    world: DescribedWorld
    default: tuple[Lot, ...]
    best_static: tuple[Lot, ...] | None
    policies: Mapping[str, tuple[Lot, ...]]


def play(world: DescribedWorld, policy: str | None = None, terms: Terms | None = None) -> Lot:
    """One world under a policy (None: at the default), here and now, nothing cached."""
    asked = terms or Terms(())
    return _lot(world, perform(_trial(world, asked, asked.seed, policy)))


def compare(lab: Lab, worlds: Sequence[DescribedWorld], terms: Terms, *, search: bool = True) -> list[Row]:
    """A row for each world, in their order; with the best static setting, if it is to be searched."""
    if BEST_STATIC in terms.policies:
        raise UsageError("best-static is in every row; leave it out of --policy")
    labels = (None, *terms.policies)
    trials = [
        _trial(world, terms, seed, policy)
        for world in worlds
        for policy in labels
        for seed in terms.all_seeds
    ]
    measured = iter(lab.measure("scenarios", trials))
    lots = [
        {policy: tuple(_lot(world, next(measured)) for _ in terms.all_seeds) for policy in labels}
        for world in worlds
    ]
    best = best_static(lab, worlds, [each[None][0].run for each in lots], terms) if search else None
    return [
        Row(
            world,
            each[None],
            None if best is None else best[number],
            {policy: each[policy] for policy in terms.policies},
        )
        for number, (world, each) in enumerate(zip(worlds, lots, strict=True))
    ]


def _trial(
    world: DescribedWorld, terms: Terms, seed: int, policy: str | None, held: Setting | None = None
) -> Trial:
    course = terms.course(policy, held)
    if policy == NUDGE:
        # It shows what chance does. The guard would keep it from that.
        course = replace(course, guard=False, model=None)
    return Trial(world.plan(seed), course)


def best_static(
    lab: Lab, worlds: Sequence[DescribedWorld], defaults: Sequence[Measured], terms: Terms
) -> list[tuple[Lot, ...]]:
    """Each world at the one setting for all clients that brings most in total and starves no job, with every seed.

    `defaults` has a run at the default for each world.
    """
    races = {
        str(number): Race(
            [world.plan(terms.seed)],
            _rounds(default.events / terms.seconds),
            partial(starving_nobody, world.jobs(), terms.seconds),
        )
        for number, (world, default) in enumerate(zip(worlds, defaults, strict=True))
    }
    chosen = [choice.setting for choice in race(lab, races, terms.seconds).values()]
    pairs = list(zip(worlds, chosen, strict=True))
    trials = [_trial(world, terms, seed, None, held) for world, held in pairs for seed in terms.all_seeds]
    found = iter(lab.measure("best static settings", trials))
    return [
        tuple(replace(_lot(world, next(found)), setting=setting) for _ in terms.all_seeds)
        for world, setting in pairs
    ]


def _rounds(events_per_s: float) -> tuple[Round, ...]:
    """Longer rounds if a simulated second is cheap, shorter ones if it is expensive."""
    spent = events_per_s * sum(each.settings * (each.warmup_s + each.seconds) for each in ROUNDS)
    stretch = min(max(AFFORDABLE_EVENTS / max(spent, 1.0), STRETCH[0]), STRETCH[1])
    return tuple(replace(each, seconds=float(round(each.seconds * stretch * 2)) / 2) for each in ROUNDS)


def starving_nobody(
    jobs: Sequence[Sequence[int]], full_s: float, found: Mapping[Setting, Sequence[Measured]], seconds: float
) -> dict[Setting, float]:
    """Rank the settings of a race by total throughput. Settings that starve a job come last, the worst at the end.

    In a run shorter than the full one a job needs proportionally fewer requests to count.
    """
    least = max(20.0, LEAST_REQUESTS * min(1.0, seconds / full_s))
    floor = LEAST_SHARE if seconds >= LONG_RUN_S else SHORT_LEAST_SHARE
    default = _by_job(jobs, found[DEFAULT][0])
    scores: dict[Setting, float] = {}
    for setting, (one,) in found.items():
        share = least_job(_by_job(jobs, one), default, least)
        starves = share is not None and share < floor
        scores[setting] = share - 1.0 if starves and share is not None else one.app_mbps
    return scores


def least_job(mine: Sequence[Share], default: Sequence[Share], least: float) -> float | None:
    """The smallest ratio to the default among jobs with enough requests there; None if there is no such job."""
    ratios = [
        ratio(one.app_mbps, base.app_mbps)
        for one, base in zip(mine, default, strict=True)
        if base.requests >= least
    ]
    return min(ratios, default=None)


def _lot(world: DescribedWorld, run: Measured) -> Lot:
    return Lot(run, _by_job(world.jobs(), run))


def _by_job(jobs: Sequence[Sequence[int]], run: Measured) -> tuple[Share, ...]:
    return tuple(sum((run.jobs[n] for n in numbers), Share(0.0, 0.0, 0, 0)) for numbers in jobs)


def ratio(value: float, base: float) -> float:
    """To the default. Where that did nothing, nothing is gained or lost."""
    return value / base if base > 0.0 else 1.0
