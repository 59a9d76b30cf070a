"""What becomes of a policy's wishes: they are let through, refused, or give way to what the guard itself orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.decide.guard.limits import GuardLimits
from penstock.decide.guard.offer import Offer
from penstock.decide.guard.refusals import kept
from penstock.decide.guard.rules import swings
from penstock.decide.guard.turn import Order, Turn
from penstock.decision import Decision


def obey(member: Decision, order: Order, turn: Turn) -> Decision:
    """The guard's own order as a member's decision."""
    place = order.places.get(member.target.name)
    # Bounds may have changed since a place was noted.
    wanted = member.before if place is None else member.before.replace(turn.unit.space.clipped(place))
    if wanted != member.before:
        turn.record.changed_s.append(turn.now_s)
    return replace(
        member,
        wanted=wanted,
        reason=order.rule,
        sentence=order.sentence,
        evidence=order.evidence,
        confidence=None,
    )


def ask(turn: Turn, members: Sequence[Decision], limits: GuardLimits) -> list[Decision]:
    """Every member's decision if the rules let the unit move, else decisions to keep."""
    moving = next((member for member in members if member.changes), None)
    if moving is None:
        return list(members)
    place_of, homes = turn.record.place_of, turn.unit.homes
    homeward = all(place_of(m.wanted) == homes[m.target.name] for m in members)
    if not homeward and any(place_of(m.wanted) != place_of(m.before) for m in members):
        numbers = {"confidence": moving.confidence, **moving.evidence}
        refusal = Offer(turn, limits).refusal(place_of(moving.wanted), numbers)
        if refusal is not None:
            return [kept(member, refusal) if member.changes else member for member in members]
    note(turn, members, limits)
    return list(members)


def note(turn: Turn, members: Sequence[Decision], limits: GuardLimits) -> None:
    """Remember a change that is let through."""
    moving = next((member for member in members if member.changes), None)
    if moving is None:
        return
    record, place = turn.record, turn.record.place_of(moving.wanted)
    record.changed_s.append(turn.now_s)
    record.let_through = {member.target.name: member.id for member in members if member.changes}
    record.path.append(place)
    if swings(record):
        record.broken_until_s = turn.now_s + limits.breaker_s
        record.path.clear()
    if place not in turn.work.proven:
        record.mount.trying = (turn.unit.name, turn.now_s)
