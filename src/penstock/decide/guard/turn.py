"""One unit in one interval as the guard sees it, and what the guard itself does with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.decide.guard.limits import GAINED_TWICE, GAINED_TWICE_S, GuardLimits
from penstock.decide.guard.record import UnitRecord, Visit, WorkRecord, gain_of
from penstock.decide.objective import gain_log2
from penstock.decision_reasons import Reason
from penstock.knobs import KnobSpace, Setting
from penstock.window import Window


@dataclass(frozen=True, slots=True)
class Unit:
    """A target or a tuning group in one interval: its work, and its members' windows and originals by name."""

    name: str
    work: str
    members: Mapping[str, Window]
    homes: Mapping[str, Setting]
    space: KnobSpace

    @property
    def home(self) -> Setting:
        """The original of the first member."""
        return next(iter(self.homes.values()))

    def says(self, rate: float) -> str:
        """A rate of its work in words."""
        return self.space.kind.per_s(rate)


@dataclass(frozen=True, slots=True)
class Turn:
    """One unit in one interval: its window, and whether that shows the setting in force and nothing else.

    `judged` says whether it also tells what that setting brings: not while a cache only fills or empties. `hindered`
    says that what other work left unsent is being sent: what that costs is no setting's fault.
    """

    unit: Unit
    window: Window
    record: UnitRecord
    work: WorkRecord
    at_home: bool
    settled: bool
    judged: bool
    hindered: bool = False

    @property
    def now_s(self) -> float:
        """The end of the interval."""
        return self.window.t1_s

    @property
    def unsent_bytes(self) -> float:
        """What is written and was not sent yet."""
        return self.window.metrics.get("dirty.bytes") or 0.0

    @property
    def limit_bytes(self) -> float:
        """The dirty limit in force."""
        return float(self.unit.space.cache_bytes(self.window.setting))


@dataclass(frozen=True, slots=True)
class Order:
    """What the guard itself does with a unit: where each member goes, and why."""

    places: Mapping[str, Setting]
    rule: Reason
    sentence: str
    evidence: Mapping[str, float]


def switchback_after_s(turn: Turn, visit: Visit, limits: GuardLimits) -> float:
    """How long to wait for the next look: twice as long each time. From the second on it is longer where the original
    brings far less, so that looks cost no more than their share.
    """
    if visit.level.count >= limits.switchback_windows:
        visit.gained = 1.0 - 2.0 ** -max(gain_of(visit, turn.work, limits), 0.0)
    if visit.gained >= GAINED_TWICE:
        # Where memory does the work, going back is dear: what piled up leaves first.
        return GAINED_TWICE_S
    if not visit.switchbacks:
        return limits.switchback_first_s
    look_s = (limits.switchback_windows + 1) * turn.window.seconds
    waited = max(
        limits.switchback_first_s * 2.0**visit.switchbacks, visit.gained * look_s / limits.switchback_share
    )
    return min(waited, limits.switchback_most_s)


def unit_of(name: str, work: str, members: Sequence[Window], space: KnobSpace) -> Unit:
    """A unit with its members' originals, as their windows state them."""
    windows = {window.target.name: window for window in members}
    # An administrator's newest value is in the bounds before it is in the journal.
    homes = {target: space.clipped(w.home.only(*space.searched)) for target, w in windows.items()}
    return Unit(name, work, windows, homes, space)


def back_from(
    turn: Turn, visit: Visit, limits: GuardLimits, *, lost: bool = True
) -> tuple[Mapping[str, Setting], str]:
    """Where a visit that `lost`, or is given up for another reason, goes back to, and how to say so: to the best
    setting that is certain to bring more than the original, else to the original.
    """
    refuge = turn.work.refuge(visit.place, turn.now_s, limits, lost=lost)
    if refuge is None:
        return turn.unit.homes, ""
    proof, original = turn.work.proofs[refuge], turn.work.reference.level
    times = 2.0 ** gain_log2(proof.level.mean, original.mean, limits.objective)
    sentence = f"; back to {refuge}, which brought {times:.2f} times the original"
    return dict.fromkeys(turn.unit.homes, refuge), sentence
