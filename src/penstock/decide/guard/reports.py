"""What the guard is told of the node, and what it tells of changes: how they turned out, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.decide.guard.account import Account
from penstock.decide.guard.limits import LONG_S, GuardLimits
from penstock.decide.guard.record import HeldBackWindows, UnitRecord, Visit
from penstock.decide.guard.turn import Turn
from penstock.decide.guard.unit_states import State, state_of
from penstock.snapshot import Target


@dataclass(frozen=True, slots=True)
class NodeView:
    """What the guard must know of the node: the limit for all dirty data, and how much memory is left.

    `elsewhere_mib` is what targets may hold that nobody decides about.
    """

    dirty_budget_mib: float = float("inf")
    memory_available_ratio: float | None = None
    elsewhere_mib: float = 0.0


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change turned out to do against the original setting.

    From a `switchback` the original was measured around the same time; otherwise it was measured before the change.
    Of what it brings, `memory_bytes_per_s` were written over in memory and never had to be sent; `unsent_bytes` wait.
    Both are 0 where rewriting is no part of the work.
    """

    decision_id: str
    target: Target
    t_s: float
    before_bytes_per_s: float
    after_bytes_per_s: float
    gain: float
    error: float
    switchback: bool
    memory_bytes_per_s: float = 0.0
    unsent_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class BoundUse:
    """What changes cost the dearest target of a mount lately, in seconds of the original's work, and the most."""

    mount: str
    lost_s: float
    most_s: float


@dataclass(frozen=True, slots=True)
class UnitHeldBack:
    """Which rules kept the best candidate of a unit from being tried, for the work it does now.

    `state` is where the unit is, `windows` in how many windows it was seen at work.
    """

    unit: str
    work: str
    state: State
    windows: int
    rules: Mapping[str, HeldBackWindows]


def effects_of(
    turn: Turn, visit: Visit, ratio: float, error: float, *, switchback: bool = False
) -> list[Effect]:
    """What the setting in force turned out to do, for every member that a decision of ours brought there."""
    before, after, seen = turn.work.reference.level.mean.total, visit.level.mean.total, turn.work.unsent
    memory = (seen.over, seen.waiting) if seen.large else (0.0, 0.0)
    return [
        Effect(decision_id, member.target, turn.now_s, before, after, ratio, error, switchback, *memory)
        for member in turn.unit.members.values()
        if (decision_id := visit.decisions.get(member.target.name)) is not None
    ]


def held_back_of(unit: str, record: UnitRecord) -> UnitHeldBack | None:
    """What keeps the best candidates of a unit from being tried; None before it was seen at work."""
    work = record.works.get(record.work)
    if work is None:
        return None
    return UnitHeldBack(unit, record.work, state_of(record), record.windows, dict(work.held_back))


def bound_use(mount: str, account: Account, limits: GuardLimits) -> BoundUse:
    """What one mount has used; the account is only read, so that any thread may ask."""
    return BoundUse(mount, account.lost_s(), limits.price * LONG_S)
