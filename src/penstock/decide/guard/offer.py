"""What a policy may choose from: for every candidate whether it is allowed, what it must bring, and why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.decide.guard.limits import GuardLimits
from penstock.decide.guard.prices import fullness, prices
from penstock.decide.guard.record import UnitRecord, WorkRecord
from penstock.decide.guard.rules import LASTING, Refusal, Wish, first_refusal, reach, windows_needed
from penstock.decide.guard.turn import Turn
from penstock.knobs import Candidates, Setting

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Offer:
    """The guard's answer before a policy is asked, a function of the record alone.

    `judged` says whether the window tells what the setting in force brings, `busy` what the guard itself is about to
    do or waits for. Without `enforced` everything is allowed.
    """

    turn: Turn
    limits: GuardLimits
    enforced: bool = True
    busy: str = ""

    @property
    def record(self) -> UnitRecord:
        """What is known of the unit."""
        return self.turn.record

    @property
    def work(self) -> WorkRecord:
        """What is known of its kind of work."""
        return self.turn.work

    @property
    def judged(self) -> bool:
        """Whether the window tells what the setting in force brings."""
        return self.turn.judged and not self.busy

    @property
    def room_s(self) -> float:
        """What the next trial may cost, in seconds of the original's work."""
        return self.record.room_s(self.limits)

    @property
    def knows_original(self) -> bool:
        """Whether enough is known of the original to judge anything by it."""
        level = self.work.reference.level
        return level.count >= windows_needed(level, self.limits)

    def is_near(self, place: Setting) -> bool:
        """Whether a setting is within reach of what did no harm."""
        return reach(self._wish(place), self.limits) is None

    def _wish(self, place: Setting, numbers: Mapping[str, float | None] | None = None) -> Wish:
        unit, turn = self.turn.unit, self.turn
        return Wish(unit.name, numbers or {}, place, unit.home, turn.record, turn.work, turn.now_s)

    def refusal(self, place: Setting, numbers: Mapping[str, float | None] | None = None) -> Refusal | None:
        """Why a setting may not be chosen now; None if it may. The original always may."""
        if not self.enforced or place == self.turn.unit.home:
            return None
        return first_refusal(self._wish(place, numbers), self.limits)

    def is_barred(self, place: Setting) -> bool:
        """Whether a setting that was measured may not be taken up for longer: it did harm, or sends too slowly."""
        if not self.enforced or place == self.turn.unit.home:
            return False
        return first_refusal(self._wish(place), self.limits, LASTING) is not None

    def prices(self, candidates: Candidates) -> Floats:
        """What every candidate must bring for its bytes and requests in flight, as base-2 logarithms."""
        home = self.turn.unit.home
        full = fullness(self.work.reference.level.mean, home, candidates.space)
        return prices(candidates, home, full, self.limits)
