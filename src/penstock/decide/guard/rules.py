"""The rules, one function each: a reason to refuse a change, or None.

They are asked in the order of `RULES`; the first refusal counts. Each says in a sentence what it saw, and
gives the numbers it looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.decide.guard.record import PATH_STEPS, GuardLimits, Record
from penstock.decision import Decision

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Which rule refuses, why, and on which numbers."""

    rule: str
    sentence: str
    evidence: Mapping[str, float]


Rule = Callable[[Decision, Record, GuardLimits, float], Refusal | None]


def breaker(decision: Decision, record: Record, limits: GuardLimits, now_s: float) -> Refusal | None:
    """Too many reverts, or swinging between two settings, stops all changes of a target for a while."""
    _forget_before(record.reverted_s, now_s - limits.breaker_window_s)
    if len(record.reverted_s) >= limits.breaker_reverts or _swings(record):
        record.broken_until_s = now_s + limits.breaker_s
        record.reverted_s.clear()
        record.path.clear()
    left_s = record.broken_until_s - now_s
    if left_s <= 0:
        return None
    return Refusal("breaker", f"changes did no good too often; none for {left_s:.0f} s", {"left_s": left_s})


def jitter(decision: Decision, record: Record, limits: GuardLimits, now_s: float) -> Refusal | None:
    """After a pause or a reconnect every target waits a time of its own, so that nodes do not act in step."""
    left_s = record.quiet_until_s - now_s
    if left_s <= 0:
        return None
    return Refusal("jitter", f"waiting {left_s:.1f} s after a pause or a reconnect", {"left_s": left_s})


def blacklist(decision: Decision, record: Record, limits: GuardLimits, now_s: float) -> Refusal | None:
    """A setting that did harm here is not tried again for a time that doubles with every repetition."""
    ban = record.banned.get(decision.wanted)
    if ban is None or now_s >= ban.until_s:
        return None
    left_s = ban.until_s - now_s
    return Refusal(
        "blacklist", f"{decision.wanted} did harm here; not for {left_s:.0f} s", {"left_s": left_s}
    )


def dwell(decision: Decision, record: Record, limits: GuardLimits, now_s: float) -> Refusal | None:
    """A setting is held long enough to be judged."""
    held_s = now_s - record.changed_s[-1] if record.changed_s else float("inf")
    if held_s >= limits.dwell_s:
        return None
    return Refusal("dwell", f"the last change is only {held_s:.1f} s old", {"held_s": held_s})


def hysteresis(decision: Decision, record: Record, limits: GuardLimits, now_s: float) -> Refusal | None:
    """A setting just left is taken up again only with more confidence than usual."""
    away_s = now_s - record.left_s.get(decision.wanted, float("-inf"))
    confidence = decision.confidence
    if away_s >= limits.hysteresis_s or confidence is None or confidence >= limits.hysteresis_confidence:
        return None
    sentence = f"{decision.wanted} was left only {away_s:.0f} s ago, and {confidence:.2f} is too unsure"
    return Refusal("hysteresis", sentence, {"away_s": away_s, "confidence": confidence})


def budget(decision: Decision, record: Record, limits: GuardLimits, now_s: float) -> Refusal | None:
    """So many changes an hour, and no more."""
    _forget_before(record.changed_s, now_s - HOUR_S)
    spent = len(record.changed_s)
    if spent < limits.changes_per_hour:
        return None
    return Refusal("budget", f"{spent} changes within an hour are enough", {"changes": spent})


RULES: tuple[Rule, ...] = (breaker, jitter, blacklist, dwell, hysteresis, budget)


def _swings(record: Record) -> bool:
    """Whether the last changes went back and forth between the same two settings."""
    path = list(record.path)
    return (
        len(path) == PATH_STEPS and len(set(path)) == 2 and len(set(path[::2])) == len(set(path[1::2])) == 1
    )


def _forget_before(times_s: deque[float], oldest_s: float) -> None:
    while times_s and times_s[0] < oldest_s:
        times_s.popleft()
