"""Evaluates a technique on samples it has not seen: inside the measured scales, and beyond the largest scale.

Errors are logarithms of predicted over true seconds, so that short writes count as much as long ones.
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
# A prediction below this share of the truth counts as this share, because a linear model may predict zero or less.
LEAST_SHARE = 0.01
FEWEST_IN_FOLD = 8
# This share of larger scales is assumed to hit a limit that no smaller scale showed, such as a saturated link. Beyond
# a limit more nodes bring nothing, and a forecast without it is too low by up to a factor of two per doubling.
LIMIT_SHARE = 0.25
LIMIT_POINTS = 50


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One split: fitted on `train`, asked about `test`."""

    train: Mask
    test: Mask


def grouped_folds(groups: Floats, seed: int = 0, count: int = FOLDS) -> list[Fold]:
    """Every row is tested once. Rows of one group (equal in all columns) are tested together.

    Otherwise runs that differ in a detail, such as the transfer size, would reveal each other's time.
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


def doublings(scale: Floats, folds: Sequence[Fold]) -> list[Floats]:
    """How far each tested row lies beyond the largest scale its fold was fitted on, in doublings of nodes."""
    return [np.log2(scale[fold.test] / scale[fold.train].max()) for fold in folds]


@dataclass(frozen=True, slots=True)
class Spread:
    """The range of the truth around a prediction in `LEVEL` of all cases, as logarithms of true over predicted.

    Beyond the measured scales both bounds are per doubling of the nodes. `measured` is the share of samples inside
    such ranges that were not used to compute them; None if that was not tested.
    """

    low: float
    high: float
    measured: float | None

    def holds(self, errors: Floats, far: Floats | float = 1.0) -> Mask:
        """Which errors lie inside; `far` is how many doublings beyond the scales."""
        return np.asarray((self.low * far <= -errors) & (-errors <= self.high * far))


def spread_of(errors: Sequence[Floats], far: Sequence[Floats] | None = None) -> Spread | None:
    """The spread from held-out errors. It is checked on each fold with the errors of the others.

    With `far` (doublings beyond the scales) errors are taken per doubling, and possible limits widen the upper bound.
    """
    steps = [np.ones(part.size) for part in errors] if far is None else list(far)
    filled = [(part, step) for part, step in zip(errors, steps, strict=True) if part.size]
    if not filled:
        return None
    bounds = _bounds if far is None else _bounds_beyond
    scaled = [part / step for part, step in filled]
    low, high = bounds(np.concatenate(scaled))
    if len(filled) < 2:
        return Spread(low, high, None)
    held = []
    for number, (part, step) in enumerate(filled):
        rest = bounds(np.concatenate(scaled[:number] + scaled[number + 1 :]))
        held.append(Spread(*rest, None).holds(part, step))
    return Spread(low, high, float(np.mean(np.concatenate(held))))


def _bounds(errors: Floats) -> tuple[float, float]:
    low, high = np.quantile(-errors, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _bounds_beyond(errors: Floats) -> tuple[float, float]:
    """The bounds of the errors, with the upper bound as if `LIMIT_SHARE` of all cases hit a limit on the way."""
    met = np.linspace(0, np.log(2), LIMIT_POINTS)
    values = np.concatenate([-errors, met])
    mass = np.concatenate(
        [
            np.full(errors.size, (1 - LIMIT_SHARE) / errors.size),
            np.full(LIMIT_POINTS, LIMIT_SHARE / LIMIT_POINTS),
        ]
    )
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(mass[order]) - mass[order] / 2
    return _bounds(errors)[0], float(np.interp((1 + LEVEL) / 2, reached, values[order]))
