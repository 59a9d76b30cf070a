"""Summarises a period from the log: what the agent changed, or would have changed, and the effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.agent.effect import effect_gain, headline
from penstock.events import (
    DecisionEvent,
    EffectEvent,
    JobEvent,
    LogEvent,
    StartEvent,
    TrialEvent,
    TrialForgottenEvent,
)
from penstock.gains import Gain, mean_gain


@dataclass(slots=True)
class TargetSummary:
    """The period of one target."""

    target: str
    #: The short name of the target. Logs of earlier versions do not have it.
    short: str = ""
    #: Everything that was set, looks at the original and what was taken back included.
    made: int = 0
    looks: int = 0
    advised: int = 0
    reverted: int = 0
    failed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    gains: list[Gain] = field(default_factory=list)
    last: str = ""
    last_id: str = ""

    @property
    def changes(self) -> int:
        """What was set for a gain."""
        return self.made - self.looks - self.reverted

    @property
    def gain(self) -> Gain | None:
        """The geometric mean of the effect of judged changes on throughput, or None if none was judged."""
        return mean_gain(self.gains)


@dataclass(slots=True)
class JobSummary:
    """A job's time on this node. An end of None is outside the period or in the future.

    Jobs that share a node share its changes; each job counts all of them.
    """

    job: str
    user: str = ""
    began_s: float | None = None
    ended_s: float | None = None
    made: int = 0
    advised: int = 0
    reverted: int = 0
    gains: list[Gain] = field(default_factory=list)

    @property
    def gain(self) -> Gain | None:
        """The geometric mean of what changes during the job did; None when none was judged."""
        return mean_gain(self.gains)


@dataclass(frozen=True, slots=True)
class Summary:
    """All targets, all jobs, and the agent's own starts."""

    since_s: float
    until_s: float
    starts: int
    targets: tuple[TargetSummary, ...]
    jobs: tuple[JobSummary, ...] = ()
    #: The last switchback trial of the period.
    trial: TrialEvent | None = None

    @property
    def effect(self) -> dict[str, Any] | None:
        """The headline: what tuning was worth."""
        return headline(self.trial, [gain for target in self.targets for gain in target.gains])


def summarise(events: Iterable[LogEvent], since_s: float, until_s: float) -> Summary:
    """Add up a log's events within a period of wall time."""
    targets: dict[str, TargetSummary] = {}
    jobs = _Jobs()
    starts, trial = 0, None
    for event in events:
        if not since_s <= event.time_s <= until_s:
            continue
        starts += isinstance(event, StartEvent)
        jobs.take(event)
        if isinstance(event, TrialEvent | TrialForgottenEvent):
            trial = event if isinstance(event, TrialEvent) else None
        elif isinstance(event, DecisionEvent):
            _decision(targets.setdefault(event.target, TargetSummary(event.target)), event)
        elif isinstance(event, EffectEvent) and (gain := effect_gain(event)) is not None:
            targets.setdefault(event.target, TargetSummary(event.target)).gains.append(gain)
    rows = tuple(targets[name] for name in sorted(targets))
    _tell_apart(rows)
    return Summary(since_s, until_s, starts, rows, jobs.summaries(), trial)


class _Jobs:
    """Counts what happened while each job ran."""

    def __init__(self) -> None:
        self._jobs: dict[str, JobSummary] = {}
        self._during: dict[str, list[JobSummary]] = {}

    def summaries(self) -> tuple[JobSummary, ...]:
        """In the order of their start, as far as it is known."""
        return tuple(sorted(self._jobs.values(), key=lambda job: (job.began_s or 0.0, job.job)))

    def take(self, event: LogEvent) -> None:
        if isinstance(event, JobEvent):
            self._mark(event)
        elif isinstance(event, DecisionEvent):
            self._decision(event)
        elif isinstance(event, EffectEvent) and (gain := effect_gain(event)) is not None:
            for job in self._during.get(event.decision, ()):
                job.gains.append(gain)

    def _mark(self, event: JobEvent) -> None:
        job = self._job(event.job)
        job.user = event.user or job.user
        if event.what == "begin":
            job.began_s = event.time_s
        else:
            job.ended_s = event.time_s

    def _decision(self, event: DecisionEvent) -> None:
        running = [self._job(job) for job in event.jobs]
        if running:
            self._during[event.id] = running
        for job in running:
            job.made += event.outcome == "made" and not (event.is_look or event.was_taken_back)
            job.advised += event.outcome == "advised"
            job.reverted += event.was_taken_back

    def _job(self, job: str) -> JobSummary:
        return self._jobs.setdefault(job, JobSummary(job))


def _tell_apart(rows: Sequence[TargetSummary]) -> None:
    """Use full names for targets whose short name is missing or not unique."""
    often = Counter(row.short for row in rows)
    for row in rows:
        row.short = row.short if row.short and often[row.short] == 1 else row.target


def _decision(summary: TargetSummary, event: DecisionEvent) -> None:
    if event.fs and event.resource:
        summary.short = f"{event.fs}-{event.resource}"
    summary.reasons[event.reason] += 1
    if event.outcome == "failed":
        summary.failed += 1
        return
    summary.advised += event.outcome == "advised"
    summary.made += event.outcome == "made"
    summary.looks += event.outcome == "made" and event.is_look
    summary.reverted += event.was_taken_back
    summary.last = ", ".join(event.shown_changes)
    summary.last_id = event.id
