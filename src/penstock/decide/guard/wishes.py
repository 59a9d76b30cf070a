"""What becomes of a policy's wishes: they are let through, refused, or give way to what the guard itself orders.

The node's budget for dirty data is asked last, over the decisions of all units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.decide.budget import CacheBudget
from penstock.decide.guard.limits import GuardLimits
from penstock.decide.guard.offer import Offer
from penstock.decide.guard.reports import NodeView
from penstock.decide.guard.rules import Refusal, is_finite, swings
from penstock.decide.guard.turn import Order, Turn
from penstock.decision import Decision
from penstock.decision_reasons import Reason
from penstock.knobs import KnobSpace
from penstock.snapshot import Target
from penstock.units import MIB


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


def kept(decision: Decision, refusal: Refusal) -> Decision:
    """The same decision as one to keep what is in force, with the refusal as its reason."""
    wish = ", ".join(str(change) for change in decision.changes)
    return replace(
        decision,
        wanted=decision.before,
        reason=refusal.rule,
        sentence=f"{refusal.sentence} (wished: {wish})",
        evidence={**_finite(decision.evidence), **refusal.evidence},
        confidence=decision.confidence if is_finite(decision.confidence) else None,
    )


def within_budget(
    decision: Decision, held_mib: dict[Target, float], space: KnobSpace, node: NodeView, limits: GuardLimits
) -> Decision:
    """Refuse what lifts the node's dirty limits over its budget, the system's own coupling included."""
    if not decision.changes:
        return decision
    wanted = {change.knob_id: change.new for change in decision.changes}
    limit_mib = space.cache_bytes(space.settle(decision.before, wanted)) / MIB
    if limit_mib > space.cache_bytes(decision.before) / MIB:
        refusal = _why_no_more_cache({**held_mib, decision.target: limit_mib}, node, limits)
        if refusal is not None:
            return kept(decision, refusal)
    held_mib[decision.target] = limit_mib
    return decision


def _why_no_more_cache(
    wished_mib: Mapping[Target, float], node: NodeView, limits: GuardLimits
) -> Refusal | None:
    left = node.memory_available_ratio
    if left is not None and left < limits.memory_floor_ratio:
        sentence = f"only {left:.0%} of memory is left: dirty limits do not rise"
        return Refusal(Reason.GUARD_MEMORY, sentence, {"memory_available_ratio": left})
    over_mib = CacheBudget(node.dirty_budget_mib).over_mib(wished_mib, node.elsewhere_mib)
    if over_mib > 0:
        total_mib = node.dirty_budget_mib + over_mib
        sentence = f"all dirty limits would be {total_mib:.0f} MiB, above {node.dirty_budget_mib:.0f}"
        return Refusal(Reason.GUARD_CACHE, sentence, {"total_mib": total_mib})
    return None


def _finite(evidence: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in evidence.items() if is_finite(value)}
