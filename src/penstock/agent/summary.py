"""Summarises a period from the log: what the agent changed, or would have changed, and the effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.agent.effect import effect_gain, headline
from penstock.gains import Gain, mean_gain


@dataclass(slots=True)
class TargetSummary:
    """The period of one target."""

    target: str
    #: The short name of the target. Logs of earlier versions do not have it.
    short: str = ""
    made: int = 0
    advised: int = 0
    reverted: int = 0
    failed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    gains: list[Gain] = field(default_factory=list)
    last: str = ""
    last_id: str = ""

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
    trial: Mapping[str, Any] | None = None

    @property
    def effect(self) -> dict[str, Any] | None:
        """The headline: what tuning was worth."""
        return headline(self.trial, [gain for target in self.targets for gain in target.gains])


def summarise(events: Iterable[Mapping[str, Any]], since_s: float, until_s: float) -> Summary:
    """Add up a log's events within a period of wall time; events of unknown kinds are ignored."""
    targets: dict[str, TargetSummary] = {}
    jobs = _Jobs()
    starts, trial = 0, None
    for event in events:
        if not since_s <= float(event.get("time_s", 0.0)) <= until_s:
            continue
        kind = event.get("event")
        starts += kind == "start"
        jobs.take(event)
        trial = event if kind == "trial" else None if kind == "trial_forgotten" else trial
        name = str(event.get("target", ""))
        if kind == "decision":
            _decision(targets.setdefault(name, TargetSummary(name)), event)
        elif kind == "effect":
            _effect(targets.setdefault(name, TargetSummary(name)), event)
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

    def take(self, event: Mapping[str, Any]) -> None:
        kind = event.get("event")
        if kind == "job":
            self._mark(event)
        elif kind == "decision":
            self._decision(event)
        elif kind == "effect":
            for job in self._during.get(str(event.get("decision")), ()):
                job.gains += effect_gain(event)

    def _mark(self, event: Mapping[str, Any]) -> None:
        job = self._job(str(event.get("job", "")))
        job.user = str(event.get("user", "")) or job.user
        if event.get("what") == "begin":
            job.began_s = float(event["time_s"])
        else:
            job.ended_s = float(event["time_s"])

    def _decision(self, event: Mapping[str, Any]) -> None:
        running = [self._job(str(job)) for job in event.get("jobs") or ()]
        if running:
            self._during[str(event.get("id"))] = running
        for job in running:
            outcome = outcome_of(event)
            job.made += outcome == "made"
            job.advised += outcome == "advised"
            job.reverted += outcome == "made" and event.get("reason") == "guard.revert"

    def _job(self, job: str) -> JobSummary:
        return self._jobs.setdefault(job, JobSummary(job))


def _tell_apart(rows: Sequence[TargetSummary]) -> None:
    """Use full names for targets whose short name is missing or not unique."""
    often = Counter(row.short for row in rows)
    for row in rows:
        row.short = row.short if row.short and often[row.short] == 1 else row.target


def _decision(summary: TargetSummary, event: Mapping[str, Any]) -> None:
    outcome = outcome_of(event)
    if event.get("fs") and event.get("resource"):
        summary.short = f"{event['fs']}-{event['resource']}"
    summary.reasons[str(event.get("reason"))] += 1
    if outcome == "failed":
        summary.failed += 1
        return
    summary.advised += outcome == "advised"
    summary.made += outcome == "made"
    summary.reverted += outcome == "made" and event.get("reason") == "guard.revert"
    summary.last = ", ".join(event.get("made") or event.get("changes", ()))
    summary.last_id = str(event.get("id", ""))


def outcome_of(event: Mapping[str, Any]) -> str:
    """The outcome of a decision: `made` (at least in part), `advised`, or `failed` if no knob was changed.

    Logs of earlier versions do not say which knobs were changed; an error there means none.
    """
    if event.get("made"):
        return "made"
    if event.get("error"):
        return "failed"
    if event.get("actual") is None:
        return "advised"
    return "failed" if "made" in event else "made"


def _effect(summary: TargetSummary, event: Mapping[str, Any]) -> None:
    summary.gains += effect_gain(event)
