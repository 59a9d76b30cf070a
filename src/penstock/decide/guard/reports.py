"""What the guard is told of the node, and what it tells of changes: how they turned out, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.decide.guard.limits import GuardLimits
from penstock.decide.guard.record import Account
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
    """

    decision_id: str
    target: Target
    t_s: float
    before_bytes_per_s: float
    after_bytes_per_s: float
    gain: float
    error: float
    switchback: bool


@dataclass(frozen=True, slots=True)
class BoundUse:
    """What changes cost a mount lately, in seconds of the original's work, and the most they may cost.

    `hold_s` is how long the guard still keeps the mount at its original after the last harm.
    """

    mount: str
    lost_s: float
    most_s: float
    hold_s: float


def bound_use(mount: str, account: Account, limits: GuardLimits, now_s: float) -> BoundUse:
    """What one mount has used; the account is only read, so that any thread may ask."""
    since_s = now_s - limits.loss_window_s
    lost_s = sum(lost_s for t_s, lost_s in list(account.losses) if t_s >= since_s)
    held_s = max(0.0, account.hold_until_s - now_s)
    return BoundUse(mount, lost_s, limits.loss_share * limits.loss_window_s, held_s)
