"""The features CARAT prints: its six metrics, their changes, and the candidate's two knobs. Nothing of our own.

Section III-B gives each direction RPC page utilisation, RPC channel utilisation, unit page latency and transferred
volume, and the cache two more, dirty utilisation and estimated updates; III-C flattens the current and k earlier
snapshots into one vector. Decided where the text leaves room: the cache's two belong to writes (the authors' own code
has them there alone); changes are plain differences between neighbouring snapshots; metrics are base-2 logarithms,
which no tree can tell from the metrics themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.predict.features import MEASURES, Floats, stack_windows
from penstock.spaces import LUSTRE
from penstock.units import MIB, PAGE_BYTES
from penstock.window import Window

CANDIDATE_FEATURES = ("candidate.pages", "candidate.flight")
#: The cache limit of the clients the data sets come from; a walk over the RPC knobs leaves it alone.
LIMIT_BYTES = float(LUSTRE.default["dirty"] * MIB)
_RPC_METRICS = ("page_utilisation", "channel_utilisation", "page_latency_us", "bytes")
_CACHE_METRICS = ("dirty_utilisation", "cache_update_bytes")


def metric_names(direction: str) -> tuple[str, ...]:
    """The metrics of one snapshot of a direction."""
    return _RPC_METRICS if direction == "read" else (*_RPC_METRICS, *_CACHE_METRICS)


def past_names(direction: str, history: int) -> tuple[str, ...]:
    """The current snapshot first, then earlier ones, then the changes between neighbours, newest first.

    >>> past_names("read", 1)[0], past_names("read", 1)[4], past_names("read", 1)[-1]
    ('now.page_utilisation', 'back1.page_utilisation', 'change0.bytes')
    """
    metrics = metric_names(direction)
    when = ["now", *(f"back{lag}" for lag in range(1, history + 1))]
    when += [f"change{lag}" for lag in range(history)]
    return tuple(f"{each}.{metric}" for each in when for metric in metrics)


def depth(history: int) -> int:
    """Intervals before the current one that are looked at: updates of the cache need one more than k."""
    return history + 1


def past_of_windows(histories: Sequence[Sequence[Window]], direction: str, history: int) -> Floats:
    """The features of targets from their windows in time order; a short history leaves NaN behind it."""
    stack = stack_windows(histories, direction, depth(history))
    limits = np.full(stack.shape[:2], LIMIT_BYTES)
    for row, windows in enumerate(histories):
        for lag, window in enumerate(windows[: -depth(history) - 2 : -1]):
            limits[row, lag] = window.setting.get("dirty", 0) * MIB or np.nan
    return past_features(stack, direction, limits)


def past_features(stack: Floats, direction: str, limit_bytes: Floats | None = None) -> Floats:
    """The features of a stack of measures that is one interval deeper than the history."""
    raw = _metrics(stack, direction, LIMIT_BYTES if limit_bytes is None else limit_bytes)
    metrics = raw[:, :-1]
    offset = np.array(
        [float(PAGE_BYTES) if name == "cache_update_bytes" else 0.0 for name in metric_names(direction)]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log2(metrics + offset)
    snapshots = np.where(np.isfinite(logs), logs, np.nan)
    changes = metrics[:, :-1] - metrics[:, 1:]
    return np.ascontiguousarray(np.hstack([_flat(snapshots), _flat(changes)]), dtype=np.float64)


def _flat(part: Floats) -> Floats:
    """One row a sample, also where there is none."""
    return part.reshape(len(part), part.shape[1] * part.shape[2])


def candidate_features(pages: Floats, flight: Floats) -> Floats:
    """Both knobs, by their logarithm."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log2(np.stack([pages, flight], axis=-1))


def _metrics(stack: Floats, direction: str, limit_bytes: Floats | float) -> Floats:
    """Every interval's metrics as the paper defines them; NaN where there is nothing to divide by."""
    row = {name: stack[..., index] for index, name in enumerate(MEASURES)}
    wire_pages = row["bytes"] / PAGE_BYTES
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = [
            wire_pages / row["rpcs"] / row["pages"],
            row["usec"] / (row["seconds"] * 1e6) / row["flight"],
            row["usec"] / wire_pages,
            row["bytes"],
        ]
        if direction == "write":
            grown = np.full_like(row["dirty_bytes"], np.nan)
            grown[:, :-1] = row["dirty_bytes"][:, :-1] - row["dirty_bytes"][:, 1:]
            updated = np.maximum(row["app_bytes"] - row["bytes"] - grown, 0.0)
            columns += [row["dirty_bytes"] / limit_bytes, updated]
    found = np.stack(columns, axis=-1)
    return np.where(np.isfinite(found), found, np.nan)
