"""The feature vector: its only definition, for training, agent, replay and evaluation alike.

Everything starts from `MEASURES`, what is known of one target over one interval. A stack of them, shaped
(samples, 1 + history, measures) with the current interval first, becomes the features of a sample's past;
a candidate setting becomes the few features that differ between candidates. What is not known is NaN and
stays NaN: the trees know where to send it.

All magnitudes are base-2 logarithms, so that a distance of 1 is a factor of two everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.units import PAGE_BYTES
from penstock.window import DIRECTIONS, Window

Floats = NDArray[np.float64]

MEASURES = (
    "seconds",
    "pages",
    "flight",
    "bytes",
    "rpcs",
    "usec",
    "app_bytes",
    "app_calls",
    "dirty_bytes",
    "grant_bytes",
)
CANDIDATE_FEATURES = ("candidate.pages", "candidate.flight", "candidate.window")
MAX_HISTORY = 16
_NEGLIGIBLE_BYTES = float(PAGE_BYTES)
# The metrics a direction is measured by, spelled once: windows are measured a thousand at a time.
_METRICS = {
    direction: (
        *(f"{direction}.{name}" for name in ("bytes", "rpcs", "usec")),
        *(f"app.{direction}_{name}" for name in ("bytes", "calls")),
        "dirty.bytes",
        "grant.bytes",
    )
    for direction in DIRECTIONS
}


def row_names(direction: str) -> tuple[str, ...]:
    """The features of one interval of a direction, in order."""
    both = (
        "bytes_per_s",
        "rpcs_per_s",
        "pages_per_rpc",
        "rpc_latency_us",
        "page_latency_us",
        "rpcs_in_flight",
        "pages_in_flight",
        "pages",
        "flight",
        "window",
        "app_bytes_per_s",
        "app_request_bytes",
        "app_over_wire",
    )
    return both if direction == "read" else (*both, "dirty_bytes", "grant_bytes", "unsent_bytes")


def remembered_names(direction: str) -> tuple[str, ...]:
    """What of earlier intervals still matters: for reads what was in flight, for writes the whole backlog.

    More only teaches noise by heart: see the study in docs/explanation/learning.md.
    """
    if direction == "read":
        return ("pages_in_flight",)
    return (
        "bytes_per_s",
        "pages_per_rpc",
        "pages_in_flight",
        "pages",
        "window",
        "app_bytes_per_s",
        "dirty_bytes",
        "grant_bytes",
    )


def names(direction: str, history: int) -> tuple[str, ...]:
    """All features of a sample: interval by interval backwards from the current one, then the candidate's.

    >>> names("read", 1)[0], names("read", 1)[-4:]
    ('now.bytes_per_s', ('back1.pages_in_flight', 'candidate.pages', 'candidate.flight', 'candidate.window'))
    """
    if direction not in DIRECTIONS:
        raise UsageError(f"direction {direction!r} is neither read nor write")
    if not 0 <= history <= MAX_HISTORY:
        raise UsageError(f"history {history} is outside 0..{MAX_HISTORY}")
    rows = row_names(direction)
    past = [f"{_when(lag)}.{rows[column]}" for lag, column in past_columns(direction, history)]
    return (*past, *CANDIDATE_FEATURES)


def past_columns(direction: str, history: int) -> list[tuple[int, int]]:
    """Interval and column of every feature of the past: all of the current one, then what is remembered."""
    rows, remembered = row_names(direction), remembered_names(direction)
    now = [(0, column) for column in range(len(rows))]
    return now + [(lag, rows.index(name)) for lag in range(1, history + 1) for name in remembered]


def past_features(stack: Floats, direction: str) -> Floats:
    """What is known before a candidate is chosen, one row a sample, in the order of `names`."""
    rows = row_features(stack, direction)
    lags, columns = np.array(past_columns(direction, stack.shape[1] - 1)).T
    return np.ascontiguousarray(rows[:, lags, columns])


def candidate_features(pages: Floats, flight: Floats) -> Floats:
    """What differs between candidates: both knobs and their product, the bytes they allow in flight."""
    log_pages, log_flight = _log2(pages), _log2(flight)
    return np.stack([log_pages, log_flight, log_pages + log_flight], axis=-1)


def stack_windows(histories: Sequence[Sequence[Window]], direction: str, history: int) -> Floats:
    """Measures of targets from their windows in time order; a short history leaves NaN behind it."""
    stack = np.full((len(histories), history + 1, len(MEASURES)), np.nan)
    rows = [measure(window, direction) for windows in histories for window in windows[: -history - 2 : -1]]
    if rows:
        lengths = np.array([min(len(windows), history + 1) for windows in histories])
        stack[np.arange(history + 1) < lengths[:, None]] = rows
    return stack


def measure(window: Window, direction: str) -> list[float]:
    """One window's measures; NaN where the window does not know. Where nothing moved there was no request either."""
    known = window.metrics.get
    moved, rpcs, usec, *others = [known(name, np.nan) for name in _METRICS[direction]]
    if moved == 0:
        rpcs = usec = 0.0
    setting = window.setting
    return [window.seconds, float(setting["pages"]), float(setting["flight"]), moved, rpcs, usec, *others]


def _when(lag: int) -> str:
    return f"back{lag}" if lag else "now"


def row_features(stack: Floats, direction: str) -> Floats:
    """Every interval's features in the order of `row_names`, beside each other in the last axis."""
    row = {name: stack[..., index] for index, name in enumerate(MEASURES)}
    wire_pages = row["bytes"] / PAGE_BYTES
    with np.errstate(divide="ignore", invalid="ignore"):
        in_flight = row["usec"] / (row["seconds"] * 1e6)
        pages_per_rpc = wire_pages / row["rpcs"]
        columns = [
            _log2(row["bytes"] / row["seconds"], 1.0),
            _log2(row["rpcs"] / row["seconds"], 1.0),
            _log2(pages_per_rpc),
            _log2(row["usec"] / row["rpcs"]),
            _log2(row["usec"] / wire_pages),
            _log2(in_flight),
            _log2(in_flight * pages_per_rpc),
            _log2(row["pages"]),
            _log2(row["flight"]),
            _log2(row["pages"] * row["flight"]),
            _log2(row["app_bytes"] / row["seconds"], 1.0),
            _log2(row["app_bytes"] / row["app_calls"]),
            _log2(row["app_bytes"] / row["bytes"]),
        ]
        if direction == "write":
            in_flight_bytes = in_flight * pages_per_rpc * PAGE_BYTES
            unsent = np.maximum(row["dirty_bytes"] - np.nan_to_num(in_flight_bytes), 0.0)
            columns += [
                _log2(v + _NEGLIGIBLE_BYTES) for v in (row["dirty_bytes"], row["grant_bytes"], unsent)
            ]
    return np.stack(columns, axis=-1)


def _log2(values: Floats, offset: float = 0.0) -> Floats:
    """A logarithm that answers NaN where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log2(values + offset)
    return np.where(np.isfinite(logs), logs, np.nan)
