"""What the agent changed, or would have changed, over a period, and what that did, from its log alone."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class TargetSummary:
    """One target's period."""

    target: str
    made: int = 0
    advised: int = 0
    reverted: int = 0
    failed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    gains: list[float] = field(default_factory=list)
    last: str = ""

    @property
    def mean_gain(self) -> float | None:
        """The geometric mean of what judged changes did to throughput; None when none was judged."""
        return _geometric_mean(self.gains)


@dataclass(slots=True)
class JobSummary:
    """One job's time on this node; an end that is None lies outside the period or is still to come.

    Jobs that share a node share its changes: each counts them all.
    """

    job: str
    user: str = ""
    began_s: float | None = None
    ended_s: float | None = None
    made: int = 0
    advised: int = 0
    reverted: int = 0
    gains: list[float] = field(default_factory=list)

    @property
    def mean_gain(self) -> float | None:
        """The geometric mean of what changes during the job did; None when none was judged."""
        return _geometric_mean(self.gains)


@dataclass(frozen=True, slots=True)
class Summary:
    """All targets, all jobs, and the agent's own starts."""

    since_s: float
    until_s: float
    starts: int
    targets: tuple[TargetSummary, ...]
    jobs: tuple[JobSummary, ...] = ()


def summarise(events: Iterable[Mapping[str, Any]], since_s: float, until_s: float) -> Summary:
    """Add up a log's events within a period of wall time; events of unknown kinds are ignored."""
    targets: dict[str, TargetSummary] = {}
    jobs = _Jobs()
    starts = 0
    for event in events:
        if not since_s <= float(event.get("time_s", 0.0)) <= until_s:
            continue
        kind = event.get("event")
        starts += kind == "start"
        jobs.take(event)
        name = str(event.get("target", ""))
        if kind == "decision":
            _decision(targets.setdefault(name, TargetSummary(name)), event)
        elif kind == "effect":
            _effect(targets.setdefault(name, TargetSummary(name)), event)
    return Summary(
        since_s, until_s, starts, tuple(targets[name] for name in sorted(targets)), jobs.summaries()
    )


class _Jobs:
    """Adds up what happened while each job ran."""

    def __init__(self) -> None:
        self._jobs: dict[str, JobSummary] = {}
        self._during: dict[str, list[JobSummary]] = {}

    def summaries(self) -> tuple[JobSummary, ...]:
        """In the order they began, as far as that is known."""
        return tuple(sorted(self._jobs.values(), key=lambda job: (job.began_s or 0.0, job.job)))

    def take(self, event: Mapping[str, Any]) -> None:
        kind = event.get("event")
        if kind == "job":
            self._mark(event)
        elif kind == "decision":
            self._decision(event)
        elif kind == "effect":
            for job in self._during.get(str(event.get("decision")), ()):
                job.gains += _gains(event)

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
            made = event.get("actual") is not None and not event.get("error")
            job.made += made
            job.advised += event.get("actual") is None and not event.get("error")
            job.reverted += made and event.get("reason") == "guard.revert"

    def _job(self, job: str) -> JobSummary:
        return self._jobs.setdefault(job, JobSummary(job))


def _decision(summary: TargetSummary, event: Mapping[str, Any]) -> None:
    if event.get("error"):
        summary.failed += 1
    elif event.get("actual") is None:
        summary.advised += 1
    else:
        summary.made += 1
        summary.reverted += event.get("reason") == "guard.revert"
    summary.reasons[str(event.get("reason"))] += 1
    summary.last = ", ".join(event.get("changes", ()))


def _effect(summary: TargetSummary, event: Mapping[str, Any]) -> None:
    summary.gains += _gains(event)


def _gains(event: Mapping[str, Any]) -> list[float]:
    before, after = float(event["before_bytes_per_s"]), float(event["after_bytes_per_s"])
    return [after / before / float(event["control_ratio"])] if before > 0 else []


def _geometric_mean(gains: Iterable[float]) -> float | None:
    logs = [math.log(gain) for gain in gains if gain > 0]
    return math.exp(statistics.fmean(logs)) if logs else None
