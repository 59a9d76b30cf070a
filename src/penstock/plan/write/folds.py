"""Judging a technique on samples it did not see: inside the measured scales, and beyond the largest one.

Errors are logarithms of predicted over true seconds, so that a short write counts as much as a long one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
FOLDS = 5
LEVEL = 0.8
# A prediction below this share of the truth counts as this share: a linear model may predict nothing or less.
LEAST_SHARE = 0.01
FEWEST_IN_FOLD = 8


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One split: fitted on `train`, asked about `test`."""

    train: Mask
    test: Mask


def grouped_folds(groups: Floats, seed: int = 0, count: int = FOLDS) -> list[Fold]:
    """Every row is tested once; rows of one group (equal in all columns) are tested together.

    Runs that differ in a detail, such as the transfer size, would otherwise tell each other's time.
    """
    _, label = np.unique(np.round(groups, 6), axis=0, return_inverse=True)
    label = label.ravel()
    size = int(label.max()) + 1
    part = np.random.default_rng(seed).permutation(size) % min(count, size)
    chosen = part[label]
    return [Fold(chosen != number, chosen == number) for number in range(int(part.max()) + 1)]


def extrapolation_folds(scale: Floats) -> list[Fold]:
    """Fit on all samples up to a scale and ask about all larger ones, for every scale but the largest."""
    found = []
    for bound in np.unique(scale)[:-1]:
        fold = Fold(scale <= bound, scale > bound)
        if np.count_nonzero(fold.train) >= FEWEST_IN_FOLD:
            found.append(fold)
    return found


def log_errors(predicted: Floats, seconds: Floats) -> Floats:
    """The logarithm of predicted over true seconds; above zero is an overestimate."""
    return np.asarray(np.log(np.maximum(predicted, LEAST_SHARE * seconds) / seconds), dtype=np.float64)


def fold_errors(
    fit: Callable[[Mask], Callable[[Mask], Floats]], folds: Sequence[Fold], seconds: Floats
) -> list[Floats]:
    """The errors of each fold's test rows; `fit` takes the training rows and returns a predictor of rows."""
    return [log_errors(fit(fold.train)(fold.test), seconds[fold.test]) for fold in folds]


def mean_error(errors: Sequence[Floats]) -> float:
    """The mean over folds of the mean absolute error; infinite without a fold."""
    return float(np.mean([np.mean(np.abs(part)) for part in errors])) if errors else float("inf")


@dataclass(frozen=True, slots=True)
class Spread:
    """How far the truth lies from a prediction in `LEVEL` of all cases, as logarithms of true over predicted.

    `measured` is the share it held of samples that had no part in making it; None where that was not tried.
    """

    low: float
    high: float
    measured: float | None


def spread_of(errors: Sequence[Floats]) -> Spread | None:
    """The spread that held-out errors let expect, checked on each fold with the others' errors."""
    filled = [part for part in errors if part.size]
    if not filled:
        return None
    low, high = _bounds(np.concatenate(filled))
    if len(filled) < 2:
        return Spread(low, high, None)
    held = []
    for number, part in enumerate(filled):
        rest = _bounds(np.concatenate(filled[:number] + filled[number + 1 :]))
        held.append((rest[0] <= -part) & (-part <= rest[1]))
    return Spread(low, high, float(np.mean(np.concatenate(held))))


def _bounds(errors: Floats) -> tuple[float, float]:
    low, high = np.quantile(-errors, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
