"""Compares policies in described worlds with the default and the best static setting: one row per world, and a
summary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from penstock.errors import UsageError
from penstock.evaluate.drivers import Course
from penstock.evaluate.figures import geomean, headroom_captured
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import BEST_STATIC
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
class Terms:
    """How every world is run. Policies tune the clients in `tuned`, or all clients if it is empty."""

    policies: tuple[str, ...]
    seconds: float = 120.0
    seed: int = 0
    search: bool = True
    guard: bool | None = None
    model: str | None = None
    tuned: tuple[int, ...] | None = None

    def trial(self, world: DescribedWorld, policy: str | None = None, held: Setting | None = None) -> Trial:
        """One world under a policy that starts at the default, or at a held setting, or at the default throughout."""
        course = Course(self.seconds, WARMUP_S, held)
        if policy is not None and policy != "default":
            course = replace(course, policy=policy, tuned=self.tuned, guard=self.guard, model=self.model)
        return Trial(world.plan(self.seed), course)


@dataclass(frozen=True, slots=True)
class Lot:
    """The result of one world under one policy or setting: the run, and its jobs in the order of the scenario."""

    run: Measured
    jobs: tuple[Share, ...]
    setting: Setting | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One world: its run at the default, at the best static setting, and under each policy."""

    world: DescribedWorld
    default: Lot
    best_static: Lot | None
    policies: Mapping[str, Lot]

    def vs_default(self, policy: str) -> float:
        """All applications together, as a ratio to the default."""
        return _ratio(self.policies[policy].run.app_mbps, self.default.run.app_mbps)

    def least_job(self, policy: str) -> float | None:
        """The worst-off job with enough requests, as a ratio to its default."""
        return least_job(self.policies[policy].jobs, self.default.jobs, LEAST_REQUESTS)

    def least_part(self, policy: str) -> float | None:
        """The worst-off direction of a target with enough requests, as a ratio to its default."""
        mine, default = self.policies[policy].run.targets, self.default.run.targets
        return min(_parts(mine, default), default=None)


def play(world: DescribedWorld, policy: str | None = None, terms: Terms | None = None) -> Lot:
    """One world under a policy (None: at the default), here and now, nothing cached."""
    asked = terms or Terms(())
    return _lot(world, perform(asked.trial(world, policy)))


def compare(lab: Lab, worlds: Sequence[DescribedWorld], terms: Terms) -> list[Row]:
    """A row for each world, in their order."""
    if BEST_STATIC in terms.policies:
        raise UsageError("best-static is in every row; leave it out of --policy")
    labels = (None, *terms.policies)
    trials = [terms.trial(world, policy) for world in worlds for policy in labels]
    measured = iter(lab.measure("scenarios", trials))
    lots = [{policy: _lot(world, next(measured)) for policy in labels} for world in worlds]
    best = best_static(lab, worlds, [each[None].run for each in lots], terms) if terms.search else None
    return [
        Row(
            world,
            each[None],
            None if best is None else best[number],
            {policy: each[policy] for policy in terms.policies},
        )
        for number, (world, each) in enumerate(zip(worlds, lots, strict=True))
    ]


def best_static(
    lab: Lab, worlds: Sequence[DescribedWorld], defaults: Sequence[Measured], terms: Terms
) -> list[Lot]:
    """Each world at the one setting for all clients that brings most in total and starves no job."""
    races = {
        str(number): Race(
            [world.plan(terms.seed)],
            _rounds(default.events / terms.seconds),
            partial(starving_nobody, world.jobs(), terms.seconds),
        )
        for number, (world, default) in enumerate(zip(worlds, defaults, strict=True))
    }
    chosen = [choice.setting for choice in race(lab, races, terms.seconds).values()]
    trials = [terms.trial(world, held=held) for world, held in zip(worlds, chosen, strict=True)]
    found = lab.measure("best static settings", trials)
    return [
        replace(_lot(world, one), setting=setting)
        for world, one, setting in zip(worlds, found, chosen, strict=True)
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
        _ratio(one.app_mbps, base.app_mbps)
        for one, base in zip(mine, default, strict=True)
        if base.requests >= least
    ]
    return min(ratios, default=None)


def _parts(mine: Mapping[tuple[int, int], Share], default: Mapping[tuple[int, int], Share]) -> list[float]:
    ratios = []
    for place, base in default.items():
        one = mine[place]
        if base.reads >= LEAST_REQUESTS:
            ratios.append(_ratio(one.read_mbps, base.read_mbps))
        if base.writes >= LEAST_REQUESTS:
            ratios.append(_ratio(one.write_mbps, base.write_mbps))
    return ratios


def summary(rows: Sequence[Row], policy: str) -> dict[str, float | None]:
    """One policy over all rows. Head-room counts where the best static setting brings 1.2 times the default."""
    ratios = [row.vs_default(policy) for row in rows]
    room = [
        (row.default.run.app_mbps, row.best_static.run.app_mbps, row.policies[policy].run.app_mbps)
        for row in rows
        if row.best_static is not None
    ]
    least = [(row.least_job(policy), row.least_part(policy)) for row in rows]
    return {
        "worst_vs_default": min(ratios),
        "p05_vs_default": percentile(ratios, 0.05),
        "geomean_vs_default": geomean(ratios),
        "headroom_captured": headroom_captured(room),
        "worst_job_vs_default": min((job for job, _ in least if job is not None), default=None),
        "worst_part_vs_default": min((part for _, part in least if part is not None), default=None),
    }


def percentile(values: Sequence[float], share: float) -> float:
    """By linear interpolation between the sorted values.

    >>> percentile([3.0, 1.0, 2.0], 0.25)
    1.5
    """
    ranked = sorted(values)
    place = share * (len(ranked) - 1)
    low = int(place)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (place - low) * (ranked[high] - ranked[low])


def _lot(world: DescribedWorld, run: Measured) -> Lot:
    return Lot(run, _by_job(world.jobs(), run))


def _by_job(jobs: Sequence[Sequence[int]], run: Measured) -> tuple[Share, ...]:
    return tuple(sum((run.jobs[n] for n in numbers), Share(0.0, 0.0, 0, 0)) for numbers in jobs)


def _ratio(value: float, base: float) -> float:
    return value / base if base > 0.0 else 1.0
