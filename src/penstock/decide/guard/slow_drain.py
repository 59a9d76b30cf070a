"""Settings that send more slowly than the original, so that more is written over in memory: when they are left.

One that leaves too much unsent is given up, whatever it brings. When the program stops writing, calls fsync or closes
its file, nobody writes over what waits any more, so the original is back at once to send it.
"""

from __future__ import annotations

from penstock.decide.guard.limits import DRAIN_WINDOWS, MOST_STALL, SHRINKS, SLOW_DRAIN_S, SOON_S, GuardLimits
from penstock.decide.guard.record import Visit
from penstock.decide.guard.turn import Order, Turn, back_from
from penstock.decide.guard.unit_states import Return, transition
from penstock.decide.objective import sent_bytes
from penstock.decision_reasons import Reason
from penstock.knobs import Setting


def drains_too_slowly(turn: Turn, limits: GuardLimits) -> bool:
    """Whether what is written over in memory would take too long to be sent, if it had to be."""
    unsent, original, visit = turn.work.unsent, turn.work.rewriting, turn.record.visit
    if original.sent <= 0 or visit is None or room_of(turn, visit.place) >= room_of(turn, turn.unit.home):
        return False
    waits_s = turn.unsent_bytes / original.sent
    known = unsent.windows >= DRAIN_WINDOWS and unsent.large
    slow = known and unsent.sent < limits.least_drain * original.sent
    return slow or waits_s > original.most_unsent_s(limits)


def leave_slow_drain(turn: Turn, visit: Visit, limits: GuardLimits) -> Order:
    """Give up a setting that leaves too much unsent, whatever it brings."""
    unsent, original = turn.work.unsent, turn.work.rewriting
    turn.work.slow_drain_bytes = room_of(turn, visit.place)
    turn.work.slow_until_s = turn.now_s + SLOW_DRAIN_S
    turn.work.proven.discard(visit.place)
    transition(turn.record, Return())
    sentence = (
        f"{visit.place} sends {unsent.sent / 1e6:.0f} MB/s of the original's {original.sent / 1e6:.0f}, "
        f"{turn.unsent_bytes / 1e6:.0f} MB wait unsent: given up"
    )
    evidence = {"sent_bytes_per_s": unsent.sent, "unsent_bytes": turn.unsent_bytes}
    places, where_to = back_from(turn, visit, limits, lost=False)
    if any(room_of(turn, place) <= turn.work.slow_drain_bytes for place in places.values()):
        places, where_to = turn.unit.homes, ""
    return Order(places, Reason.GUARD_UNPAID, sentence + where_to, evidence)


def ending(turn: Turn) -> str | None:
    """What the program did that ends the writing over while enough waits to be sent."""
    metrics, work = turn.window.metrics, turn.work
    work.pauses.take(writes=(metrics.get("app.write_bytes") or 0.0) > 0)
    if not work.rewriting.large:
        return None
    if turn.unsent_bytes < SOON_S * work.rewriting.sent:
        return None
    if (metrics.get("app.fsyncs") or 0.0) > 0:
        return "called fsync"
    if (metrics.get("app.closes") or 0.0) > 0 and work.rewriting.closes == 0.0:
        return "closed a file"
    shrinks = -(metrics.get("dirty.grown_bytes") or 0.0) >= SHRINKS * sent_bytes(turn.window) > 0
    return "stopped writing" if shrinks and work.pauses.is_long(MOST_STALL) else None


def send_now(turn: Turn, visit: Visit, what: str) -> Order | None:
    """The original is back to send what waits, if the setting in force sends more slowly."""
    if room_of(turn, visit.place) >= room_of(turn, turn.unit.home):
        return None
    transition(turn.record, Return())
    sentence = f"the program {what}: the original sends the {turn.unsent_bytes / 1e6:.0f} MB that wait"
    return Order(turn.unit.homes, Reason.GUARD_SEND, sentence, {"unsent_bytes": turn.unsent_bytes})


def room_of(turn: Turn, place: Setting) -> int:
    """The bytes that a setting lets be on their way."""
    space = turn.unit.space
    return space.in_flight_bytes(space.default.replace(place))
