"""What happened between two snapshots of one target: how far its counters rose, and its gauges at the end.

A pair of snapshots either yields a `Window` or a `Void` that says why it cannot be trusted. A window holds facts
only; what is divided, multiplied or estimated from them is worked out by `penstock.ratios`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from penstock.knobs import Setting, Way
from penstock.knobs.target_kind import BYTES
from penstock.snapshot import NOTHING, NodeSnapshot, Target, TargetSnapshot

DIRECTIONS = ("read", "write")
# What applications asked for, by the direction whose share of it is a target's.
_ASKED = {
    direction: tuple(f"app.{direction}_{what}" for what in ("bytes", "calls")) for direction in DIRECTIONS
}
_ASKED["write"] += ("app.opens", "app.closes", "app.fsyncs", "app.fsync_usec")
APPLICATION = tuple(name for names in _ASKED.values() for name in names)

# What is shorter measures the clock, not the file system.
_SHORTEST_S = 1e-6

# In these states of the connection counters may be compared; empty means that the state cannot be read.
CONNECTED = frozenset({"FULL", "IDLE", ""})


class VoidReason(StrEnum):
    """Why nothing may be concluded from a pair of snapshots."""

    CLOCK = "the clock did not advance"
    TOO_LONG = "the interval is far too long"
    RESTARTED = "the connection or its counters started anew"
    BACKWARDS = "a counter ran backwards"
    ROW_LOST = "a counter disappeared"
    DISCONNECTED = "the connection was not up"
    INACTIVE = "the target is deactivated"


@dataclass(frozen=True, slots=True)
class Window:
    """One target over one interval, with the setting in force at its end.

    `metrics` holds what is known, by the names of `penstock.snapshot`: how far every counter rose, and every gauge at
    the end; `dirty.grown_bytes`, by which unwritten data grew; and this target's share of what applications did.
    `original` is what a restore would bring back, as whoever sets the target states it; None if it was never changed.
    """

    target: Target
    t0_s: float
    t1_s: float
    setting: Setting
    metrics: Mapping[str, float]
    original: Setting | None = None

    @property
    def home(self) -> Setting:
        """The setting without any tuning: the original, or what is in force if nothing was ever changed."""
        return self.setting if self.original is None else self.original

    @property
    def seconds(self) -> float:
        """How long the interval was."""
        return self.t1_s - self.t0_s

    def rate(self, metric: str) -> float:
        """A volume metric per second; nothing moved counts as zero."""
        return self.metrics.get(metric, 0.0) / self.seconds

    @property
    def ways(self) -> tuple[Way, Way]:
        """The ways of work of its target."""
        return self.target.kind.ways

    @property
    def moved_per_s(self) -> float:
        """What went over the wire, both ways together, in its kind's unit."""
        kind = self.target.kind
        first, second = kind.ways
        moved = self.metrics.get(kind.carried or first.moved, 0.0) + self.metrics.get(second.moved, 0.0)
        return moved / (self.t1_s - self.t0_s)


@dataclass(frozen=True, slots=True)
class Void:
    """A pair of snapshots from which nothing may be concluded, and why."""

    target: Target
    t0_s: float
    t1_s: float
    reason: VoidReason


def window(
    before: TargetSnapshot,
    after: TargetSnapshot,
    app: Mapping[str, float] = NOTHING,
    longest_s: float = math.inf,
) -> Window | Void:
    """Compare two snapshots of the same target.

    `app` holds this target's share of what applications did meanwhile (`app.write_bytes`), where known. An
    interval above `longest_s` (a suspended machine, a stopped process) is void.
    """
    reason = why_void(before, after, longest_s)
    if reason is not None:
        return Void(after.target, before.t_s, after.t_s, reason)
    return Window(after.target, before.t_s, after.t_s, after.setting, _facts(before, after, app))


def windows(
    before: NodeSnapshot, after: NodeSnapshot, longest_s: float = math.inf
) -> tuple[Window | Void, ...]:
    """Compare every target that both snapshots hold."""
    earlier = {snapshot.target: snapshot for snapshot in before.targets}
    pairs = [(earlier[snapshot.target], snapshot) for snapshot in after.targets if snapshot.target in earlier]
    shares = _shares(before, after, pairs)
    return tuple(
        window(first, second, shares.get(second.target, NOTHING), longest_s) for first, second in pairs
    )


def why_void(before: TargetSnapshot, after: TargetSnapshot, longest_s: float = math.inf) -> VoidReason | None:
    """The first reason why two snapshots cannot be compared; None when they can."""
    if not after.t_s - before.t_s >= _SHORTEST_S:
        return VoidReason.CLOCK
    if after.t_s - before.t_s > longest_s:
        return VoidReason.TOO_LONG
    if before.epoch != after.epoch:
        return VoidReason.RESTARTED
    if before.state not in CONNECTED or after.state not in CONNECTED:
        return VoidReason.DISCONNECTED
    if not (before.active and after.active):
        return VoidReason.INACTIVE
    return _why_counters_void(before.counters, after.counters)


def _why_counters_void(before: Mapping[str, float], after: Mapping[str, float]) -> VoidReason | None:
    for name, value in before.items():
        now = after.get(name)
        if now is None:
            return VoidReason.ROW_LOST
        if now < value:
            return VoidReason.BACKWARDS
    return None


def _facts(before: TargetSnapshot, after: TargetSnapshot, app: Mapping[str, float]) -> dict[str, float]:
    """Everything that is known of the interval; a counter that is there but not known is left out."""
    # Volumes of a target that never printed them are zero.
    facts = {name: 0.0 for name in after.target.kind.volumes if name not in after.counters}
    earlier = before.counters
    for name, value in after.counters.items():
        grown = value - earlier.get(name, 0.0)
        if grown == grown:  # noqa: PLR0124 - NaN is not equal to itself, and this is the quickest way to tell
            facts[name] = grown
    facts.update(after.gauges)
    held, holds = before.gauges.get("dirty.bytes"), after.gauges.get("dirty.bytes")
    if held is not None and holds is not None:
        facts["dirty.grown_bytes"] = holds - held
    facts.update(app)
    return facts


def _shares(
    before: NodeSnapshot, after: NodeSnapshot, pairs: Sequence[tuple[TargetSnapshot, TargetSnapshot]]
) -> dict[Target, Mapping[str, float]]:
    """Each target's part of what applications asked of its mount, per direction; opens, closes and fsyncs as writes.

    The part is that of the bytes it moved meanwhile; where no target of the mount moved any, that of the
    growth of its dirty bytes; where nothing grew either, an equal one.
    """
    shares: dict[Target, dict[str, float]] = {}
    for mount, asked in _asked(before, after).items():
        members = [pair for pair in pairs if _moves_bytes(pair[1].target, mount)]
        for direction in DIRECTIONS:
            mine = {name: asked[name] for name in _ASKED[direction] if name in asked}
            for (_, second), part in zip(members, _parts(members, direction), strict=True):
                share = shares.setdefault(second.target, {})
                share.update({name: amount * part for name, amount in mine.items()})
    return dict(shares)


def _moves_bytes(target: Target, mount: str) -> bool:
    """Whether a target carries what applications read and write on a mount."""
    kind = target.kind
    return (target.mount or target.fs) == mount and kind.unit == BYTES and not kind.whole_mount


def _parts(members: Sequence[tuple[TargetSnapshot, TargetSnapshot]], direction: str) -> list[float]:
    weights = [_grown(pair, "counters", f"{direction}.bytes") for pair in members]
    if not any(weights):
        weights = [_grown(pair, "gauges", "dirty.bytes") for pair in members]
    if not any(weights):
        weights = [1.0] * len(members)
    total = sum(weights)
    return [weight / total for weight in weights]


def _asked(before: NodeSnapshot, after: NodeSnapshot) -> dict[str, dict[str, float]]:
    """What applications asked of each mount; mounts whose counters began anew are left out."""
    found: dict[str, dict[str, float]] = {}
    for mount, now in after.mounts.items():
        then = before.mounts.get(mount)
        if then is None or now.get("app.since_s") != then.get("app.since_s"):
            continue
        grown = {name: now[name] - then[name] for name in APPLICATION if name in now and name in then}
        found[mount] = {name: amount for name, amount in grown.items() if amount >= 0}
    return found


def _grown(pair: tuple[TargetSnapshot, TargetSnapshot], kind: str, name: str) -> float:
    """How much a value rose between two snapshots; falling, unknown and restarted count as not at all."""
    first, second = pair
    earlier, later = getattr(first, kind), getattr(second, kind)
    # What did not change keeps its object, and on a large client most targets are at rest.
    if later is earlier or first.epoch != second.epoch:
        return 0.0
    now: float = later.get(name, 0.0)
    grown = now - earlier.get(name, 0.0)
    return grown if grown > 0 else 0.0
