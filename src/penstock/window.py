"""What happened between two snapshots of one target: CARAT's six metrics, by name.

A pair of snapshots either yields a `Window` or a `Void` that says why it cannot be trusted. Ratios are None
where there was nothing to divide by: an idle window is a fact, not an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.knobs import Setting
from penstock.snapshot import NOTHING, NodeSnapshot, Target, TargetSnapshot
from penstock.units import MIB, PAGE_BYTES

DIRECTIONS = ("read", "write")


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
    reason: str


def window(
    before: TargetSnapshot, after: TargetSnapshot, app: Mapping[str, float] = NOTHING
) -> Window | Void:
    """Compare two snapshots of the same target.

    `app` holds this target's share of what applications did meanwhile (`app.write_bytes`), where known.
    """
    reason = _why_void(before, after)
    if reason is not None:
        return Void(after.target, before.t_s, after.t_s, reason)
    deltas = {name: value - before.counters.get(name, 0.0) for name, value in after.counters.items()}
    metrics: dict[str, float | None] = {}
    for direction in DIRECTIONS:
        metrics.update(_direction(direction, deltas, after.setting, after.t_s - before.t_s))
    metrics["dirty.utilisation"] = _dirty_utilisation(after)
    metrics["cache_update_bytes"] = _cache_update(before, after, deltas, app)
    return Window(after.target, before.t_s, after.t_s, after.setting, metrics)


def windows(before: NodeSnapshot, after: NodeSnapshot) -> tuple[Window | Void, ...]:
    """Compare every target that both snapshots hold."""
    earlier = {snapshot.target: snapshot for snapshot in before.targets}
    return tuple(
        window(earlier[snapshot.target], snapshot) for snapshot in after.targets if snapshot.target in earlier
    )


def _why_void(before: TargetSnapshot, after: TargetSnapshot) -> str | None:
    if after.t_s <= before.t_s:
        return "the clock did not advance"
    if before.epoch != after.epoch:
        return "the connection or its counters started anew"
    if any(after.counters.get(name, 0.0) < value for name, value in before.counters.items()):
        return "a counter ran backwards"
    return None


def _direction(
    direction: str, deltas: Mapping[str, float], setting: Setting, seconds: float
) -> dict[str, float | None]:
    rpcs = deltas.get(f"{direction}.rpcs", 0.0)
    moved = deltas.get(f"{direction}.bytes", 0.0)
    usec = deltas.get(f"{direction}.usec", 0.0)
    pages = moved / PAGE_BYTES
    busy = rpcs > 0 and moved > 0
    return {
        f"{direction}.bytes": moved,
        f"{direction}.page_utilisation": pages / rpcs / setting["pages"] if busy else None,
        f"{direction}.channel_utilisation": usec / (seconds * 1e6) / setting["flight"] if busy else None,
        f"{direction}.page_latency_us": usec / pages if busy else None,
    }


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
    if "app.write_bytes" not in app:
        return None
    growth = after.gauges.get("dirty.bytes", 0.0) - before.gauges.get("dirty.bytes", 0.0)
    return max(0.0, app["app.write_bytes"] - deltas.get("write.bytes", 0.0) - growth)
