"""The accuracy of predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The shares of samples predicted within 20 % and within 30 %, and the mean square error.

    `held` is the share of samples inside their prediction interval, among the `intervals` samples that have one.
    `refused` counts samples that got no forecast; no other figure includes them.
    """

    samples: int
    within_20: float
    within_30: float
    median_error: float
    mse: float
    held: float | None = None
    intervals: int | None = None
    refused: int = 0


def relative_errors(predicted: Floats, seconds: Floats) -> Floats:
    """Signed: above zero is an overestimate."""
    return (predicted - seconds) / seconds


def measure(predicted: Floats, seconds: Floats) -> Accuracy:
    """The figures of one test set; an empty one has none."""
    if seconds.size == 0:
        return Accuracy(0, float("nan"), float("nan"), float("nan"), float("nan"))
    off = relative_errors(predicted, seconds)
    return Accuracy(
        samples=int(seconds.size),
        within_20=float(np.mean(np.abs(off) <= 0.2)),
        within_30=float(np.mean(np.abs(off) <= 0.3)),
        median_error=float(np.median(off)),
        mse=float(np.mean((predicted - seconds) ** 2)),
    )
