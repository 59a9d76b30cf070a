"""One sentence on what tuning brought this node: from a trial where there was one, else before against after."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from typing import Any


def headline(trial: Mapping[str, Any] | None, gains: Iterable[float]) -> dict[str, Any] | None:
    """The last switchback trial's figure with its interval; without one, the mean over judged changes; else None.

    A change that was judged before and after may owe its gain to the workload; a switchback's does not.
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
