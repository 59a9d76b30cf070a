"""What was decided and what became of it: every change says what, why and on which evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.knobs import Candidates, Setting
from penstock.snapshot import Target
from penstock.window import Window

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Between the mount and the rest of a unit's name.
UNIT_SEPARATOR = " / "


def unit_name(target: Target, work: str = "") -> str:
    """The name of a unit: its mount first, then the target, or the work of a group."""
    return f"{target.mount or target.fs}{UNIT_SEPARATOR}{work or target.name}"


@dataclass(frozen=True, slots=True)
class Change:
    """One knob, moved. Old and new always differ: X -> X is no change."""

    knob_id: str
    old: int
    new: int

    def __str__(self) -> str:
        return f"{self.knob_id} {self.old} -> {self.new}"


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """What every candidate brought elsewhere, by kind of work: arrays of (case, direction, candidate), read
    before write.

    The kinds are `read`, `write` and `both`; a case of `both` has two directions, the others one. Values are base-2
    logarithms of rates up to a constant a case and direction: only differences between candidates mean something.
    """

    surfaces: Mapping[str, NDArray[np.float64]]
    #: What each case of a kind of work looked like at the default, a row a case (`penstock.decide.look`).
    looks: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    #: How many votes each case of a kind of work has; one each where it is missing.
    weights: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a model expects of each candidate setting for one target: the probability that it pays.

    `in_range` is false when the target does something the model was never trained on; then nobody should act.
    A model that knows more than a probability also gives each candidate's expected gain over the setting in
    force and how far that may be off (one standard deviation), both as base-2 logarithms.
    """

    direction: str
    candidates: Candidates
    probabilities: Sequence[float]
    in_range: bool
    model: str
    gains: Sequence[float] = ()
    spreads: Sequence[float] = ()
    #: What a survey says of every candidate, case by case.
    cases: Cases | None = None


@dataclass(frozen=True, slots=True)
class HeldBack:
    """The rule that kept the best candidate from being tried, and what it said."""

    rule: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with one target now. Without changes it is a decision to leave the target alone.

    `history` and `outlook` are what was looked at: with them the decision can be made again. `unit` is what was
    decided about as one, a tuning group or the target itself, and `work` the kind of work it does; `history` is
    the unit's.
    """

    id: str
    t_s: float
    target: Target
    before: Setting
    wanted: Setting
    reason: str
    sentence: str
    evidence: Mapping[str, float] = field(default_factory=dict)
    confidence: float | None = None
    model: str | None = None
    history: tuple[Window, ...] = ()
    outlook: Outlook | None = None
    unit: str = ""
    work: str = ""
    #: What the policy wanted most and knew to be refused; None where it got what it wanted.
    held_back: HeldBack | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        """The knobs that shall move."""
        return changes(self.before, self.wanted)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is really in force after an attempt to set a target, and why it differs from what was asked.

    `before` is what was in force right before the attempt, where whoever made it looked.
    """

    target: Target
    wanted: Setting
    actual: Setting
    error: str | None = None
    before: Setting | None = None

    @property
    def exact(self) -> bool:
        """Whether every knob that was asked for holds the value asked for."""
        return self.error is None and all(self.actual[knob_id] == v for knob_id, v in self.wanted.items())


def made(decision: Decision, receipt: Receipt) -> tuple[Change, ...]:
    """The knobs of a decision that really moved, with the values they have now: not what was refused."""
    before = receipt.before if receipt.before is not None else decision.before
    return tuple(change for change in changes(before, receipt.actual) if change.knob_id in receipt.wanted)


def changes(before: Setting, after: Setting) -> tuple[Change, ...]:
    """The knobs whose values differ, in the order of `after`.

    >>> [str(c) for c in changes(Setting(pages=1024, flight=8), Setting(pages=1024, flight=16))]
    ['flight 8 -> 16']
    """
    if before is after or before == after:
        return ()
    return tuple(
        Change(knob_id, before[knob_id], value)
        for knob_id, value in after.items()
        if knob_id in before and before[knob_id] != value
    )
