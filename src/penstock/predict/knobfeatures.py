"""Features of any knob space: what a target's counters say of one interval, and where its knobs stand.

File systems count different things. What one does not count is NaN, and the trees know where to send it. All
magnitudes are base-2 logarithms; a knob at 0 counts as 1, as in `penstock.knobs.candidates`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.predict.features import Floats
from penstock.window import DIRECTIONS, Window

_SHOWN = (
    "bytes_per_s",
    "other_bytes_per_s",
    "bytes_per_rpc",
    "rpc_latency_us",
    "app_bytes_per_s",
    "dirty_bytes",
    "requests",
)
# What of earlier intervals still matters.
_REMEMBERED = ("bytes_per_s", "dirty_bytes", "requests")


def row_names(knob_ids: Sequence[str]) -> tuple[str, ...]:
    """The features of the current interval, in order."""
    return (*_SHOWN, *knob_ids)


def past_names(knob_ids: Sequence[str], history: int) -> tuple[str, ...]:
    """All features of the past: the current interval's, then what is remembered of earlier ones.

    >>> past_names(("ahead",), 1)[0], past_names(("ahead",), 1)[-1]
    ('now.bytes_per_s', 'back1.requests')
    """
    now = [f"now.{name}" for name in row_names(knob_ids)]
    return (*now, *(f"back{lag}.{name}" for lag in range(1, history + 1) for name in _REMEMBERED))


def past_of_windows(
    histories: Sequence[Sequence[Window]], direction: str, history: int, knob_ids: Sequence[str]
) -> Floats:
    """The features of targets from their windows in time order; a short history leaves NaN behind it."""
    found = np.full((len(histories), len(past_names(knob_ids, history))), np.nan)
    columns = [_SHOWN.index(name) for name in _REMEMBERED]
    for row, windows in enumerate(histories):
        for lag, window in enumerate(windows[: -history - 2 : -1]):
            shown = _shown(window, direction)
            if lag == 0:
                knobs = knob_logs(np.array([[float(window.setting[knob_id]) for knob_id in knob_ids]]))[0]
                found[row, : len(shown) + len(knobs)] = [*shown, *knobs]
            else:
                start = len(row_names(knob_ids)) + (lag - 1) * len(columns)
                found[row, start : start + len(columns)] = shown[columns]
    return found


def knob_logs(values: Floats) -> Floats:
    """Values of knobs, a column each, as features."""
    logs: Floats = np.log2(np.maximum(values, 1.0))
    return logs


def _shown(window: Window, direction: str) -> Floats:
    """One interval's features but for its knobs. Where bytes moved in no request, requests are not counted."""
    other = next(way for way in DIRECTIONS if way != direction)
    known = window.metrics.get
    moved, rpcs = known(f"{direction}.bytes", np.nan), known(f"{direction}.rpcs") or np.nan
    row = np.array(
        [
            moved / window.seconds + 1.0,
            known(f"{other}.bytes", np.nan) / window.seconds + 1.0,
            moved / rpcs,
            known(f"{direction}.usec", np.nan) / rpcs,
            known(f"app.{direction}_bytes", np.nan) / window.seconds + 1.0,
            known("dirty.bytes", np.nan) + 1.0,
            known("flight.requests", np.nan) + 1.0,
        ]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log2(row)
    return np.where(np.isfinite(logs), logs, np.nan)
