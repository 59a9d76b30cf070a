"""Parses the texts of one mount (llite) into counters: what applications call, and readahead."""

from __future__ import annotations

import math
from collections.abc import Sequence

from penstock.errors import DataError
from penstock.observe.lustre.stats import check_whole, find_count, find_row, find_start_time, parse_stats

_ROWS = ((b"\nread_bytes", "app.read"), (b"\nwrite_bytes", "app.write"))
_COUNTED = ((b"\nopen", "app.opens"), (b"\nclose", "app.closes"))


def parse_mount(texts: Sequence[bytes | None]) -> dict[str, float]:
    """The counters in the texts of `MOUNT_FILES`. A row not printed yet is zero, a garbled one NaN.

    `app.since_s` is the time when counting began. Two snapshots with different values cannot be compared. A file that
    was not read contributes nothing. Raises `DataError` for torn text.
    """
    stats, readahead = texts
    counters: dict[str, float] = {}
    if stats is not None:
        counters.update(_application(stats))
    if readahead is not None:
        rows = parse_stats(readahead, "read_ahead_stats").rows
        counters.update({f"readahead.{name}": float(row.count) for name, row in rows.items()})
    return counters


def _application(text: bytes) -> dict[str, float]:
    check_whole(text, "llite stats")
    counters: dict[str, float] = {}
    for needle, name in _ROWS:
        try:
            calls, total = find_row(text, needle) or (0, 0)
            counters[f"{name}_calls"], counters[f"{name}_bytes"] = float(calls), float(total)
        except ValueError:
            counters[f"{name}_calls"] = counters[f"{name}_bytes"] = math.nan
    for needle, name in _COUNTED:
        try:
            counters[name] = float((find_count(text, needle) or (0, None))[0])
        except ValueError:
            counters[name] = math.nan
    counters.update(_fsyncs(text))
    try:
        counters["app.since_s"] = float(find_start_time(text)[1] or 0)
    except ValueError:
        raise DataError("llite stats: start_time is not a number") from None
    return counters


def _fsyncs(text: bytes) -> dict[str, float]:
    """How often applications called fsync and, where this version says so, how long that took in all."""
    try:
        count, usec = find_count(text, b"\nfsync") or (0, 0)
    except ValueError:
        return {"app.fsyncs": math.nan, "app.fsync_usec": math.nan}
    counters = {"app.fsyncs": float(count)}
    if usec is not None:
        counters["app.fsync_usec"] = float(usec)
    return counters
