"""The rules, one function each: a reason to refuse a policy's change, or None.

They are asked in the order of `RULES`; the first refusal counts. Each says in a sentence what it saw, and
gives the numbers it looked at. Going back to the original is never refused, so no rule is asked about it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.decide.guard.limits import HOUR_S, PATH_STEPS, GuardLimits
from penstock.decide.guard.prices import fullness, price_of
from penstock.decide.guard.record import UnitRecord, WorkRecord
from penstock.decide.level import Level
from penstock.decision_reasons import Reason
from penstock.knobs import Setting


@dataclass(frozen=True, slots=True)
class Refusal:
    """Which rule refuses, why, and on which numbers."""

    rule: Reason
    sentence: str
    evidence: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody may want for a unit: the place it leads to, the original, and the numbers given for it."""

    unit: str
    numbers: Mapping[str, float | None]
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
    odd = [name for name, value in wish.numbers.items() if value is not None and not is_finite(value)]
    if not odd:
        return None
    return Refusal(Reason.GUARD_FINITE, f"not finite: {', '.join(odd)}", {"not_finite": len(odd)})


def breaker(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """Swinging between two settings stops all changes for a while."""
    left_s = wish.record.broken_until_s - wish.now_s
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
    level = wish.work.reference.level
    seen, needed = level.count, windows_needed(level, limits)
    if seen >= needed:
        return None
    sentence = f"the original was seen in {seen} windows of this work, {needed} are needed"
    return Refusal(Reason.GUARD_REFERENCE, sentence, {"windows": seen})


def cached(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """Where the administrator does not want gains of the page cache, work that it does is left alone."""
    if limits.cache_gains or not wish.work.rewriting.large or wish.place in (wish.default, *wish.work.proven):
        return None
    share = wish.work.rewriting.share
    sentence = f"{share:.0%} of what is written is written over in memory, and cache_gains is off"
    return Refusal(Reason.GUARD_CACHED, sentence, {"rewritten": share})


def drain(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """What is written over in memory must not wait too long: no setting that sends as slowly as one that let it, and
    none that sends more slowly than the original where all that is rewritten would be too much, or where the program
    has just asked for it to be sent.
    """
    space, work = wish.record.known_space, wish.work
    room = space.in_flight_bytes(space.default.replace(wish.place))
    if wish.now_s < work.slow_until_s and room <= work.slow_drain_bytes:
        return Refusal(Reason.GUARD_DRAIN, "a setting that sends as slowly left too much unsent", {})
    seen = work.rewriting
    if not seen.large or seen.sent <= 0 or room >= seen.in_flight:
        return None
    left_s = work.ended_for_s(wish.now_s)
    if left_s > 0:
        sentence = f"it sends more slowly, and the program ended its writing; not for {left_s:.0f} s"
        return Refusal(Reason.GUARD_DRAIN, sentence, {"left_s": left_s})
    wait_s, most_s = seen.pile_bytes / seen.sent, seen.most_unsent_s(limits)
    if wait_s <= most_s:
        return None
    sentence = (
        f"it sends more slowly, and {seen.pile_bytes / 1e6:.0f} MB would take {wait_s:.0f} s to be sent"
    )
    return Refusal(Reason.GUARD_DRAIN, sentence, {"wait_s": wait_s, "most_s": most_s})


def vain(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """Nothing is tried that asks for as much beforehand as a setting whose bytes came in vain."""
    left_s = wish.work.in_vain.left_s(wish.place, wish.now_s)
    if left_s <= 0:
        return None
    sentence = f"a setting that asks for no more carried too much in vain; not for {left_s:.0f} s"
    return Refusal(Reason.GUARD_VAIN, sentence, {"left_s": left_s})


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


def turn(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """One unit of a mount tries something new at a time: they share servers and network, and so would the blame."""
    unit, since_s = wish.record.mount.trying
    left_s = since_s + limits.trial_s - wish.now_s
    if unit == wish.unit or left_s <= 0 or wish.place in wish.work.proven:
        return None
    return Refusal(
        Reason.GUARD_TURN, f"{unit} tries something new for another {left_s:.1f} s", {"left_s": left_s}
    )


def loss(wish: Wish, limits: GuardLimits) -> Refusal | None:
    """The price: changes cost a target no more than its share of any ten minutes, and of any minute.

    Going back to what was measured to bring more is not expected to cost anything. Where changes have already cost
    too much, it must be certain.
    """
    space, original = wish.record.known_space, wish.work.reference.level.mean
    price = price_of(space, wish.place, wish.home, fullness(original, wish.home, space), limits)
    price += wish.work.in_vain.price(wish.place)
    room_s = wish.record.room_s(limits)
    surely = room_s < -limits.visit_loss_s
    if wish.place in wish.work.proven or wish.work.brought_more(wish.place, price, limits, surely=surely):
        return None
    if room_s >= limits.visit_loss_s:
        return None
    sentence = f"changes have cost what they may: {room_s:.1f} s are left, a trial may cost {limits.visit_loss_s:g} s"
    return Refusal(Reason.GUARD_LOSS, sentence, {"room_s": room_s})


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
    spent = sum(at_s > wish.now_s - HOUR_S for at_s in wish.record.changed_s)
    if spent < limits.changes_per_hour:
        return None
    return Refusal(Reason.GUARD_BUDGET, f"{spent} changes within an hour are enough", {"changes": spent})


RULES: tuple[Rule, ...] = (
    finite,
    breaker,
    jitter,
    reference,
    cached,
    drain,
    vain,
    reach,
    turn,
    loss,
    blacklist,
    dwell,
    budget,
)

#: Rules whose refusals last.
LASTING: tuple[Rule, ...] = (cached, drain, vain, reach, blacklist)


def windows_needed(level: Level, limits: GuardLimits) -> int:
    """In how many windows the original must have been seen: more where their mean may be far off."""
    needed = limits.reference_windows
    return needed if level.error <= limits.reference_error else 2 * needed + 2


def first_refusal(wish: Wish, limits: GuardLimits, rules: Sequence[Rule] = RULES) -> Refusal | None:
    """Why this may not be, by the first of the rules that refuses it; None if it may."""
    return next((found for rule in rules if (found := rule(wish, limits)) is not None), None)


def is_finite(value: object) -> bool:
    """Whether something a policy calls a number is one."""
    return isinstance(value, int | float) and math.isfinite(value)


def _beyond(one: Setting, other: Setting, limits: GuardLimits) -> float:
    """How many times further from the other setting than allowed the knob is that is furthest."""
    pairs = [(max(one[knob_id], 1), max(other[knob_id], 1)) for knob_id in one]
    return max(max(a / b / limits.reach, b / a / limits.reach_down) for a, b in pairs)


def swings(record: UnitRecord) -> bool:
    """Whether the last changes went back and forth between the same two settings."""
    path = list(record.path)
    return (
        len(path) == PATH_STEPS and len(set(path)) == 2 and len(set(path[::2])) == len(set(path[1::2])) == 1
    )
