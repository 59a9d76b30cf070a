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

from penstock.knobs import Setting
from penstock.snapshot import NOTHING, NodeSnapshot, Target, TargetSnapshot
from penstock.units import MIB, PAGE_BYTES

DIRECTIONS = ("read", "write")

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
        return sum(self.rate(f"{direction}.bytes") for direction in DIRECTIONS)


@dataclass(frozen=True, slots=True)
class Void:
    """A pair of snapshots from which nothing may be concluded."""

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
    deltas = {name: value - before.counters.get(name, 0.0) for name, value in after.counters.items()}
    seconds = after.t_s - before.t_s
    metrics: dict[str, float | None] = {}
    for direction in DIRECTIONS:
        _direction(metrics, direction, deltas, after.setting, seconds)
    metrics["dirty.utilisation"] = _dirty_utilisation(after)
    metrics["cache_update_bytes"] = _cache_update(before, after, deltas, app)
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
    if not after.t_s > before.t_s:
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


def _direction(
    metrics: dict[str, float | None],
    direction: str,
    deltas: Mapping[str, float],
    setting: Setting,
    seconds: float,
) -> None:
    rpcs = deltas.get(f"{direction}.rpcs", 0.0)
    moved = deltas.get(f"{direction}.bytes", 0.0)
    usec = deltas.get(f"{direction}.usec", math.nan)
    known = moved == moved  # noqa: PLR0124 - NaN alone differs from itself
    metrics[f"{direction}.bytes"] = moved if known else None
    busy = known and rpcs > 0
    pages, flight = setting.get("pages"), setting.get("flight")
    metrics[f"{direction}.page_utilisation"] = moved / PAGE_BYTES / rpcs / pages if busy and pages else None
    timed = busy and usec == usec  # noqa: PLR0124
    metrics[f"{direction}.channel_utilisation"] = (
        usec / (seconds * 1e6) / flight if timed and flight else None
    )
    metrics[f"{direction}.page_latency_us"] = usec / (moved / PAGE_BYTES) if timed and moved > 0 else None


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
    """Each target's part of what applications wrote through its mount.

    The part is that of the bytes it sent meanwhile; where no target of the mount sent any, that of the growth
    of its dirty bytes; where nothing grew either, an equal one.
    """
    shares: dict[Target, Mapping[str, float]] = {}
    for mount, written in _written(before, after).items():
        members = [pair for pair in pairs if (pair[1].target.mount or pair[1].target.fs) == mount]
        weights = [_grown(pair, "counters", "write.bytes") for pair in members]
        if not any(weights):
            weights = [_grown(pair, "gauges", "dirty.bytes") for pair in members]
        if not any(weights):
            weights = [1.0] * len(members)
        total = sum(weights)
        for (_, second), weight in zip(members, weights, strict=True):
            shares[second.target] = {"app.write_bytes": written * weight / total}
    return shares


def _written(before: NodeSnapshot, after: NodeSnapshot) -> dict[str, float]:
    """What applications wrote through each mount; mounts whose counters began anew are left out."""
    found = {}
    for mount, now in after.mounts.items():
        then = before.mounts.get(mount)
        if then is None or "app.write_bytes" not in now or "app.write_bytes" not in then:
            continue
        grown = now["app.write_bytes"] - then["app.write_bytes"]
        if grown >= 0 and now.get("app.since_s") == then.get("app.since_s"):
            found[mount] = grown
    return found


def _grown(pair: tuple[TargetSnapshot, TargetSnapshot], kind: str, name: str) -> float:
    """How much a value rose between two snapshots; falling, unknown and restarted count as not at all."""
    first, second = pair
    if first.epoch != second.epoch:
        return 0.0
    now: float = getattr(second, kind).get(name, 0.0)
    grown = now - getattr(first, kind).get(name, 0.0)
    return grown if grown > 0 else 0.0
