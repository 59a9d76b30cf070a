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
        logs = [math.log(gain) for gain in self.gains if gain > 0]
        return math.exp(statistics.fmean(logs)) if logs else None


@dataclass(frozen=True, slots=True)
class Summary:
    """All targets, and the agent's own starts."""

    since_s: float
    until_s: float
    starts: int
    targets: tuple[TargetSummary, ...]


def summarise(events: Iterable[Mapping[str, Any]], since_s: float, until_s: float) -> Summary:
    """Add up a log's events within a period of wall time; events of unknown kinds are ignored."""
    targets: dict[str, TargetSummary] = {}
    starts = 0
    for event in events:
        if not since_s <= float(event.get("time_s", 0.0)) <= until_s:
            continue
        kind = event.get("event")
        starts += kind == "start"
        name = str(event.get("target", ""))
        if kind == "decision":
            _decision(targets.setdefault(name, TargetSummary(name)), event)
        elif kind == "effect":
            _effect(targets.setdefault(name, TargetSummary(name)), event)
    return Summary(since_s, until_s, starts, tuple(targets[name] for name in sorted(targets)))


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
    before, after = float(event["before_bytes_per_s"]), float(event["after_bytes_per_s"])
    if before > 0:
        summary.gains.append(after / before / float(event["control_ratio"]))
