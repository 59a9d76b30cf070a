"""A setting that sends too slowly leaves too much unsent in memory. It is given up, whatever it brings."""

from __future__ import annotations

from penstock.decide.guard.limits import GuardLimits
from penstock.decide.guard.record import Visit
from penstock.decide.guard.turn import Order, Turn
from penstock.decision_reasons import Reason

# What a setting sends is known after so many windows.
DRAIN_WINDOWS = 6
# For so long nothing that sends as slowly is tried.
SLOW_DRAIN_S = 3600.0


def drains_too_slowly(turn: Turn, limits: GuardLimits) -> bool:
    """Whether what is written over in memory would take too long to be sent, if it had to be."""
    unsent, original = turn.work.unsent, turn.work.rewriting
    if original.sent <= 0:
        return False
    waits_s = (turn.window.metrics.get("dirty.bytes") or 0.0) / original.sent
    known = unsent.windows >= DRAIN_WINDOWS and unsent.large
    slow = known and unsent.sent < limits.least_drain * original.sent
    return slow or waits_s > original.most_unsent_s(limits)


def leave_slow_drain(turn: Turn, visit: Visit) -> Order:
    """Give up a setting that leaves too much unsent, whatever it brings."""
    unsent, original = turn.work.unsent, turn.work.rewriting
    turn.work.slow_drain_bytes = turn.unit.space.in_flight_bytes(turn.unit.space.default.replace(visit.place))
    waiting = turn.window.metrics.get("dirty.bytes") or 0.0
    turn.work.slow_until_s = turn.now_s + SLOW_DRAIN_S
    turn.work.proven.discard(visit.place)
    turn.record.visit = None
    sentence = (
        f"{visit.place} sends {unsent.sent / 1e6:.0f} MB/s of the original's {original.sent / 1e6:.0f}, "
        f"{waiting / 1e6:.0f} MB wait unsent: given up"
    )
    evidence = {"sent_bytes_per_s": unsent.sent, "unsent_bytes": waiting}
    return Order(turn.unit.homes, Reason.GUARD_UNPAID, sentence, evidence)
