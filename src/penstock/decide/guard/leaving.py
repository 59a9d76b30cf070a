"""Settings that are left whatever they bring: they send too slowly, or what they carry is in vain."""

from __future__ import annotations

from penstock.decide.guard.limits import GuardLimits
from penstock.decide.guard.record import Visit
from penstock.decide.guard.slow_drain import drains_too_slowly, leave_slow_drain
from penstock.decide.guard.turn import Order, Turn
from penstock.decide.guard.unit_states import Return, transition
from penstock.decision_reasons import Reason


def leave_anyway(turn: Turn, visit: Visit, limits: GuardLimits) -> Order | None:
    """The way back from a setting that is not kept, however much it brings; None from any other."""
    if drains_too_slowly(turn, limits):
        return leave_slow_drain(turn, visit, limits)
    return _leave_wasteful(turn, visit) if turn.work.in_vain.is_too_much else None


def take_carried(turn: Turn, visit: Visit) -> None:
    """Measure what the setting in force carries in vain, which it must pay for."""
    in_vain = turn.work.in_vain
    visit.price -= in_vain.price(visit.place)
    in_vain.take(visit.place, turn.window)
    visit.price += in_vain.price(visit.place)


def _leave_wasteful(turn: Turn, visit: Visit) -> Order:
    in_vain = turn.work.in_vain
    ratio, usual = in_vain.visited.ratio, in_vain.usual
    in_vain.leave(visit.place, turn.now_s)
    turn.work.proven.discard(visit.place)
    transition(turn.record, Return())
    times = f"{ratio:.2f} times what applications read, the original {usual:.2f} times"
    sentence = f"{visit.place} carries {times}: given up"
    evidence = {"carried_ratio": ratio, "original_ratio": usual}
    return Order(turn.unit.homes, Reason.GUARD_UNPAID, sentence, evidence)
