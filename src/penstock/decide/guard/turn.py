"""One unit in one interval as the guard sees it, and what the guard itself does with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.decide.guard.limits import GuardLimits
from penstock.decide.guard.record import UnitRecord, Visit, WorkRecord, gain_of
from penstock.decision import Decision
from penstock.knobs import KnobSpace, Setting
from penstock.window import Window


@dataclass(frozen=True, slots=True)
class Turn:
    """One unit in one interval."""

    unit: str
    members: Sequence[Decision]
    window: Window
    record: UnitRecord
    work: WorkRecord
    at_home: bool
    settled: bool

    @property
    def now_s(self) -> float:
        """The end of the interval."""
        return self.window.t1_s


@dataclass(frozen=True, slots=True)
class Order:
    """What the guard itself does with a unit: where each member goes, and why."""

    places: Mapping[str, Setting]
    rule: str
    sentence: str
    evidence: Mapping[str, float]


def look_after_s(turn: Turn, visit: Visit, limits: GuardLimits) -> float:
    """How long to wait for the next look: twice as long each time. From the second on it is longer where the original
    brings far less, so that looks cost no more than their share.
    """
    if not visit.looks:
        return limits.switchback_first_s
    if visit.level.count >= limits.switchback_windows:
        visit.gained = 1.0 - 2.0 ** -max(gain_of(visit, turn.work, limits), 0.0)
    look_s = (limits.switchback_windows + 1) * turn.window.seconds
    waited = max(
        limits.switchback_first_s * 2.0**visit.looks, visit.gained * look_s / limits.switchback_share
    )
    return min(waited, limits.switchback_most_s)


def taken_over(home: Setting, place: Setting, space: KnobSpace) -> Mapping[str, int]:
    """The knobs that may not have their original value any more, with the value that somebody else gave them."""
    return {
        knob_id: value
        for knob_id, value in place.items()
        if knob_id in home
        and space[knob_id].floor <= value <= space[knob_id].ceiling
        and not space[knob_id].floor <= home[knob_id] <= space[knob_id].ceiling
    }
