"""One unit in one interval as the guard sees it, and what the guard itself does with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.decide.guard.record import UnitRecord, WorkRecord
from penstock.decision import Decision
from penstock.knobs import Setting
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
