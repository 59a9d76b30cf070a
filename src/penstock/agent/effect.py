"""One sentence about the effect of tuning: from a trial if there was one, otherwise before against after."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from typing import Any


def headline(trial: Mapping[str, Any] | None, gains: Iterable[float]) -> dict[str, Any] | None:
    """The result of the last switchback trial with its interval, or the mean over judged changes, or None.

    A gain before against after may be due to the workload. That of a switchback trial is not.
    """
    if trial is not None and trial.get("gain") is not None:
        kept = ("gain", "low", "high", "pairs", "time_s")
        return {"kind": "switchback", **{key: trial.get(key) for key in kept}}
    known = list(gains)
    mean = geometric_mean(known)
    return None if mean is None else {"kind": "before/after", "gain": mean, "changes": len(known)}


def geometric_mean(gains: Iterable[float]) -> float | None:
    """The mean of ratios; None when there is none."""
    logs = [math.log(gain) for gain in gains if gain > 0]
    return math.exp(statistics.fmean(logs)) if logs else None
