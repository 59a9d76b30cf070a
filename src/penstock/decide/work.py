"""What kind of work a target does, as far as its own counters tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.window import Window

# Shares of the bytes beyond which the other direction is by the way.
MOSTLY = 0.8
# Requests whose sizes differ by less, in powers of two, may be of one kind.
NEAR_LOG2 = 0.6
# However slow RPCs are, a change is not left unjudged for longer.
LONGEST_ECHO = 8
_NAMES = {"read": ("read",), "write": ("write",), "both": ("read", "write")}
_COUNTED = {
    kind: tuple(tuple(f"app.{name}_{what}" for name in names) for what in ("bytes", "calls"))
    for kind, names in _NAMES.items()
}


@dataclass(frozen=True, slots=True)
class Work:
    """Reading, writing or both, and the size of the application's requests, NaN where it is not known."""

    kind: str
    request_log2: float

    def like(self, other: Work) -> bool:
        """Whether both could be the same work."""
        unknown = math.isnan(self.request_log2) or math.isnan(other.request_log2)
        return self.kind == other.kind and (
            unknown or abs(self.request_log2 - other.request_log2) < NEAR_LOG2
        )


def moved(window: Window) -> tuple[float, float]:
    """The bytes read and written over the wire; what is not known counts as nothing."""
    return window.metrics.get("read.bytes") or 0.0, window.metrics.get("write.bytes") or 0.0


def dominant(window: Window) -> str:
    """The direction that moved more bytes; it chooses the model."""
    read, write = moved(window)
    return "read" if read > write else "write"


def work_of(window: Window) -> Work:
    """The work of one window."""
    read, write = moved(window)
    share = read / (read + write) if read + write > 0 else 0.5
    kind = "read" if share > MOSTLY else "write" if share < 1.0 - MOSTLY else "both"
    asked, calls = (_sum(window.metrics, names) for names in _COUNTED[kind])
    return Work(kind, math.log2(asked / calls) if asked > 0 and calls > 0 else math.nan)


def echo_windows(window: Window) -> int:
    """For how many windows after a change RPCs sent before it still come back: as long as an RPC takes."""
    took_s = 0.0
    for direction in ("read", "write"):
        latency_us = window.metrics.get(f"{direction}.page_latency_us") or 0.0
        pages = (window.metrics.get(f"{direction}.page_utilisation") or 0.0) * window.setting["pages"]
        took_s = max(took_s, latency_us * pages / 1e6)
    return min(round(took_s / window.seconds), LONGEST_ECHO)


def drains(window: Window) -> bool:
    """Whether an application reads while pages that were written before are still being sent."""
    written = window.metrics.get("app.write_bytes")
    backlog = written is not None and written < 0.1 * (window.metrics.get("write.bytes") or 0.0)
    return backlog and (window.metrics.get("app.read_bytes") or 0.0) > 0


def _sum(metrics: Mapping[str, float | None], names: tuple[str, ...]) -> float:
    return sum(metrics.get(name) or 0.0 for name in names)
