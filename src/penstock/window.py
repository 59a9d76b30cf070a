"""What happened between two snapshots of one target: CARAT's six metrics, by name.

A pair of snapshots either yields a `Window` or a `Void` that says why it cannot be trusted. Ratios are None
where there was nothing to divide by: an idle window is a fact, not an error.

The recipes use exact sums, not histograms. Channel utilisation follows Little's law (the time all requests
spent on the wire, over the interval, over the limit), which stays right where the kernel's histogram of
requests in flight is clipped at 31. It may exceed 1: the kernel allows one request more than the limit, and
requests count when they complete.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from penstock.knobs import Setting
from penstock.snapshot import NOTHING, NodeSnapshot, Target, TargetSnapshot
from penstock.units import MIB, PAGE_BYTES

DIRECTIONS = ("read", "write")
APPLICATION = tuple(f"app.{direction}_{what}" for direction in DIRECTIONS for what in ("bytes", "calls"))


class _Names(NamedTuple):
    """One direction's counters and metrics, spelled once: windows are made a thousand at a time."""

    rpcs: str
    bytes: str
    usec: str
    page_utilisation: str
    channel_utilisation: str
    page_latency_us: str


_NAMES = tuple(_Names(*(f"{direction}.{name}" for name in _Names._fields)) for direction in DIRECTIONS)

# What is shorter measures the clock, not the file system.
_SHORTEST_S = 1e-6
# A model may count parts of a request; what is less is rounding, and nothing to divide by.
_LEAST = 1e-9

# In these states of the connection counters may be compared; empty means that the state cannot be read.
_CONNECTED = frozenset({"FULL", "IDLE", ""})


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
    """One target over one interval, with the setting in force at its end."""

    target: Target
    t0_s: float
    t1_s: float
    setting: Setting
    metrics: Mapping[str, float | None]

    @property
    def seconds(self) -> float:
        """How long the interval was."""
        return self.t1_s - self.t0_s

    def rate(self, metric: str) -> float:
        """A volume metric per second; nothing moved counts as zero."""
        return (self.metrics.get(metric) or 0.0) / self.seconds

    @property
    def bytes_per_s(self) -> float:
        """What went over the wire, both directions together."""
        read, write = self.metrics.get("read.bytes"), self.metrics.get("write.bytes")
        return ((read or 0.0) + (write or 0.0)) / (self.t1_s - self.t0_s)


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
    if after.counters is before.counters and not app:
        return Window(after.target, before.t_s, after.t_s, after.setting, _still(after))
    deltas = {name: value - before.counters.get(name, 0.0) for name, value in after.counters.items()}
    seconds = after.t_s - before.t_s
    metrics: dict[str, float | None] = {}
    for names in _NAMES:
        _direction(metrics, names, deltas, after.setting, seconds)
    metrics["dirty.utilisation"] = _dirty_utilisation(after)
    metrics["cache_update_bytes"] = _cache_update(before, after, deltas, app)
    metrics["grant.bytes"] = after.gauges.get("grant.bytes")
    metrics.update(app)
    return Window(after.target, before.t_s, after.t_s, after.setting, metrics)


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


def changes(before: Window, after: Window) -> dict[str, float | None]:
    """How every metric moved from one window to the next; None where either window does not know it."""
    return {
        name: None if value is None or (old := before.metrics.get(name)) is None else value - old
        for name, value in after.metrics.items()
    }


def why_void(before: TargetSnapshot, after: TargetSnapshot, longest_s: float = math.inf) -> VoidReason | None:
    """The first reason why two snapshots cannot be compared; None when they can."""
    if not after.t_s - before.t_s >= _SHORTEST_S:
        return VoidReason.CLOCK
    if after.t_s - before.t_s > longest_s:
        return VoidReason.TOO_LONG
    if before.epoch != after.epoch:
        return VoidReason.RESTARTED
    if before.state not in _CONNECTED or after.state not in _CONNECTED:
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


def _still(after: TargetSnapshot) -> dict[str, float | None]:
    """The metrics of a target whose counters did not move: volumes of zero, or unknown, and no ratios."""
    metrics: dict[str, float | None] = {}
    for direction in DIRECTIONS:
        moved = after.counters.get(f"{direction}.bytes", 0.0)
        metrics[f"{direction}.bytes"] = 0.0 if moved == moved else None  # noqa: PLR0124
        metrics[f"{direction}.page_utilisation"] = None
        metrics[f"{direction}.channel_utilisation"] = None
        metrics[f"{direction}.page_latency_us"] = None
    metrics["dirty.utilisation"] = _dirty_utilisation(after)
    metrics["cache_update_bytes"] = None
    metrics["grant.bytes"] = after.gauges.get("grant.bytes")
    return metrics


def _direction(
    metrics: dict[str, float | None],
    names: _Names,
    deltas: Mapping[str, float],
    setting: Setting,
    seconds: float,
) -> None:
    rpcs = deltas.get(names.rpcs, 0.0)
    moved = deltas.get(names.bytes, 0.0)
    usec = deltas.get(names.usec, math.nan)
    known = not math.isnan(moved)
    busy = known and rpcs > _LEAST
    timed = busy and not math.isnan(usec)
    pages, flight = setting.get("pages"), setting.get("flight")
    metrics[names.bytes] = moved if known else None
    metrics[names.page_utilisation] = moved / PAGE_BYTES / rpcs / pages if busy and pages else None
    metrics[names.channel_utilisation] = usec / (seconds * 1e6) / flight if timed and flight else None
    metrics[names.page_latency_us] = usec / (moved / PAGE_BYTES) if timed and moved > _LEAST else None


def _dirty_utilisation(after: TargetSnapshot) -> float | None:
    limit_bytes = after.setting.get("dirty", 0) * MIB
    dirty_bytes = after.gauges.get("dirty.bytes")
    return dirty_bytes / limit_bytes if dirty_bytes is not None and limit_bytes > 0 else None


def _cache_update(
    before: TargetSnapshot,
    after: TargetSnapshot,
    deltas: Mapping[str, float],
    app: Mapping[str, float],
) -> float | None:
    """What applications wrote over pages that were already dirty and so never cost an RPC: an estimate."""
    dirty_before, dirty_after = before.gauges.get("dirty.bytes"), after.gauges.get("dirty.bytes")
    if "app.write_bytes" not in app or dirty_before is None or dirty_after is None:
        return None
    spared = app["app.write_bytes"] - deltas.get("write.bytes", 0.0) - (dirty_after - dirty_before)
    return max(0.0, spared) if math.isfinite(spared) else None


def _shares(
    before: NodeSnapshot, after: NodeSnapshot, pairs: Sequence[tuple[TargetSnapshot, TargetSnapshot]]
) -> dict[Target, Mapping[str, float]]:
    """Each target's part of what applications asked of its mount, per direction.

    The part is that of the bytes it moved meanwhile; where no target of the mount moved any, that of the
    growth of its dirty bytes; where nothing grew either, an equal one.
    """
    shares: dict[Target, dict[str, float]] = {}
    for mount, asked in _asked(before, after).items():
        members = [pair for pair in pairs if (pair[1].target.mount or pair[1].target.fs) == mount]
        for direction in DIRECTIONS:
            mine = {name: amount for name, amount in asked.items() if name.startswith(f"app.{direction}_")}
            for (_, second), part in zip(members, _parts(members, direction), strict=True):
                share = shares.setdefault(second.target, {})
                share.update({name: amount * part for name, amount in mine.items()})
    return dict(shares)


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
    if first.epoch != second.epoch:
        return 0.0
    now: float = getattr(second, kind).get(name, 0.0)
    grown = now - getattr(first, kind).get(name, 0.0)
    return grown if grown > 0 else 0.0
