"""The rules, one function each: a reason to refuse a policy's change, or None.

They are asked in the order of `RULES`; the first refusal counts. Each says in a sentence what it saw, and
gives the numbers it looked at. Going back to the original is never refused, so no rule is asked about it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.decide.guard.limits import GuardLimits
from penstock.decide.guard.record import PATH_STEPS, UnitRecord, WorkRecord, allowance_s, gain_of
from penstock.decision import Decision
from penstock.decision_reasons import Reason
from penstock.knobs import Setting

HOUR_S = 3600.0
# Besides what a visit may lose, the intervals in which it begins and ends may be lost whole.
ENDS_S = 2.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Which rule refuses, why, and on which numbers."""

    rule: Reason
    sentence: str
    evidence: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Wish:
    """What a policy wants for a unit: the decision that says so, the place it leads to, and the original."""

    unit: str
    decision: Decision
    place: Setting
    home: Setting
    record: UnitRecord
    work: WorkRecord
    now_s: float

    @property
    def default(self) -> Setting:
        """The file system's own default."""
        return self.record.place_of(self.record.known_space.default)


Rule = Callable[[Wish, GuardLimits], Refusal | None]


def finite(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """A policy that cannot say what it expects in numbers does not know what it does."""
    numbers = {"confidence": wish.decision.confidence, **wish.decision.evidence}
    odd = [name for name, value in numbers.items() if value is not None and not is_finite(value)]
    if not odd:
        return None
    return Refusal(Reason.GUARD_FINITE, f"not finite: {', '.join(odd)}", {"not_finite": len(odd)})


def breaker(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """Swinging between two settings stops all changes for a while."""
    record = wish.record
    if _swings(record):
        record.broken_until_s = wish.now_s + limits.breaker_s
        record.path.clear()
    left_s = record.broken_until_s - wish.now_s
    if left_s <= 0:
        return None
    return Refusal(
        Reason.GUARD_BREAKER, f"changes went back and forth; none for {left_s:.0f} s", {"left_s": left_s}
    )


def jitter(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """After a pause or a reconnect every unit waits a time of its own, so that nodes do not act in step."""
    left_s = wish.record.quiet_until_s - wish.now_s
    if left_s <= 0:
        return None
    return Refusal(
        Reason.GUARD_JITTER, f"waiting {left_s:.1f} s after a pause or a reconnect", {"left_s": left_s}
    )


def reference(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """Nothing changes before it is known what the original brings for this work."""
    seen = wish.work.reference.level.count
    if seen >= limits.reference_windows:
        return None
    sentence = f"the original was seen in {seen} windows of this work, {limits.reference_windows} are needed"
    return Refusal(Reason.GUARD_REFERENCE, sentence, {"windows": seen})


def certainty(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """Where it cannot be told what the original brings, it cannot be told either what a change costs.

    Not so at a proven setting that brings twice as much: then a change has that to lose first.
    """
    error = wish.work.reference.level.error
    if error <= limits.reference_error or wish.place in (wish.default, *wish.work.proven):
        return None
    visit = wish.record.visit
    if visit is not None and visit.place in wish.work.proven and gain_of(visit, wish.work, limits) >= 1.0:
        return None
    sentence = (
        f"what the original brings is known to {error:.0%} only; {limits.reference_error:.0%} is needed"
    )
    return Refusal(Reason.GUARD_CERTAINTY, sentence, {"error": error})


def cached(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """Where the page cache does much of the work, a change shows after minutes, and so does going back."""
    if not wish.work.cache.large or wish.place in (wish.default, *wish.work.proven):
        return None
    return Refusal(
        Reason.GUARD_CACHED, "the page cache does much of this work: what a change costs shows too late", {}
    )


def reach(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """Far away lie settings whose harm outlasts them; the way there leads over settings that did none.

    A limit that requests do not come near is no distance: it counts as if it were just large enough for them.
    """
    used = wish.work.request.as_used(wish.record.known_space, wish.home)
    known = (wish.home, used, wish.default, *wish.work.proven)
    times = min(_beyond(wish.place, place, limits) for place in known)
    if times <= 1.0:
        return None
    sentence = (
        f"{wish.place} is too far from what did no harm: a knob is raised {limits.reach:.0f} times at most and "
        f"lowered {limits.reach_down:.0f} times"
    )
    return Refusal(Reason.GUARD_REACH, sentence, {"times_too_far": times})


def hold(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """After a change that did harm only proven settings are taken up for a while."""
    left_s = wish.record.account.hold_until_s - wish.now_s
    if left_s <= 0 or wish.place in wish.work.proven:
        return None
    return Refusal(
        Reason.GUARD_HOLD, f"the last change did harm; none for {left_s:.0f} s", {"left_s": left_s}
    )


def turn(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """One unit of a mount tries something new at a time: they share servers and network, and so would the blame."""
    unit, since_s = wish.record.account.trying
    left_s = since_s + limits.trial_s - wish.now_s
    if unit == wish.unit or left_s <= 0 or wish.place in wish.work.proven:
        return None
    return Refusal(
        Reason.GUARD_TURN, f"{unit} tries something new for another {left_s:.1f} s", {"left_s": left_s}
    )


def loss(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """The bound: all visits together lose no more than their share of any such time."""
    if wish.place in wish.work.proven:
        return None
    lost_s = wish.record.account.lost_s(wish.now_s, limits)
    most_s = limits.loss_share * limits.loss_window_s
    if lost_s + allowance_s(wish.work.reference, limits) + ENDS_S <= most_s:
        return None
    minutes = limits.loss_window_s / 60.0
    sentence = f"changes lost {lost_s:.1f} s of the last {minutes:.0f} minutes; {most_s:.0f} s are the most"
    return Refusal(Reason.GUARD_LOSS, sentence, {"lost_s": lost_s, "most_s": most_s})


def blacklist(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """A setting that did harm here is not tried again for a time that doubles with every repetition."""
    ban = wish.work.banned.get(wish.place)
    if ban is None or wish.now_s >= ban.until_s:
        return None
    left_s = ban.until_s - wish.now_s
    return Refusal(
        Reason.GUARD_BLACKLIST, f"{wish.place} did harm here; not for {left_s:.0f} s", {"left_s": left_s}
    )


def dwell(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """A setting is held long enough to be judged."""
    changed_s = wish.record.changed_s
    held_s = wish.now_s - changed_s[-1] if changed_s else float("inf")
    if held_s >= limits.dwell_s or wish.place in wish.work.proven:
        return None
    sentence = f"the last change, made or advised, is only {held_s:.1f} s old"
    return Refusal(Reason.GUARD_DWELL, sentence, {"held_s": held_s})


def budget(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """So many changes an hour, and no more."""
    _forget_before(wish.record.changed_s, wish.now_s - HOUR_S)
    spent = len(wish.record.changed_s)
    if spent < limits.changes_per_hour:
        return None
    return Refusal(Reason.GUARD_BUDGET, f"{spent} changes within an hour are enough", {"changes": spent})


RULES: tuple[Rule, ...] = (
    finite,
    breaker,
    jitter,
    reference,
    certainty,
    cached,
    reach,
    hold,
    turn,
    loss,
    blacklist,
    dwell,
    budget,
)


def is_finite(value: object) -> bool:
    """Whether something a policy calls a number is one."""
    return isinstance(value, int | float) and math.isfinite(value)


def _beyond(one: Setting, other: Setting, limits: GuardLimits) -> float:
    """How many times further from the other setting than allowed the knob is that is furthest."""
    pairs = [(max(one[knob_id], 1), max(other[knob_id], 1)) for knob_id in one]
    return max(max(a / b / limits.reach, b / a / limits.reach_down) for a, b in pairs)


def _swings(record: UnitRecord) -> bool:
    """Whether the last changes went back and forth between the same two settings."""
    path = list(record.path)
    return (
        len(path) == PATH_STEPS and len(set(path)) == 2 and len(set(path[::2])) == len(set(path[1::2])) == 1
    )


def _forget_before(times_s: deque[float], oldest_s: float) -> None:
    while times_s and times_s[0] < oldest_s:
        times_s.popleft()
