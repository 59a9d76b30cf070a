"""Chooses parameters and the scales to train on: tries every combination and compares errors on held-out samples.

The paper compares mean square errors, which a few long writes dominate. Here all errors are relative, unless the
paper's method is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from penstock.errors import DataError
from penstock.plan.write.fitted import FEWEST_SAMPLES, FittedModel, fit_model
from penstock.plan.write.folds import Fold, fold_errors, grouped_folds, log_errors, mean_error
from penstock.plan.write.techniques import DEFAULTS, GRIDS, STACK, Parameters, fit, quiet
from penstock.plan.write.terms import trainable
from penstock.plan.write.write_samples import Mask, WriteSamples

Floats = npt.NDArray[np.float64]
VALIDATION_SHARE = 0.2
MOST_SCALES = 10
# A combination with fewer than this share of the samples may win by luck. One scale did, with seven samples.
LEAST_TRAINING_SHARE = 0.25
MIN_TUNING_SAMPLES = 20
FEWEST_STACKED = 10


@dataclass(frozen=True, slots=True)
class ScaleTrial:
    """One trained model: its parameters, its scales, and its relative error on held-out samples of all scales.

    `error` is the mean absolute logarithm of predicted over true seconds: 0.1 is about 10 %. As printed it is the
    mean square error in seconds squared.
    """

    technique: str
    given: Parameters
    scales: tuple[int, ...]
    samples: int
    error: float


@dataclass(frozen=True, slots=True)
class ScaleSearch:
    """All trials of a technique. `base` trained on every scale, `best` has the lowest error."""

    technique: str
    trials: tuple[ScaleTrial, ...]

    @property
    def best(self) -> ScaleTrial:
        """The trial with the lowest error; among equals the one with most samples."""
        return min(self.trials, key=lambda trial: (trial.error, -trial.samples))

    @property
    def base(self) -> ScaleTrial:
        """The trial with all scales and default parameters."""
        return max(self.trials, key=lambda trial: len(trial.scales))


def split_validation(samples: WriteSamples, seed: int) -> Mask:
    """A mask of the held-out samples: a fifth of every scale, drawn at random, at least one if it has two."""
    rng = np.random.default_rng(seed)
    held = np.zeros(len(samples), dtype=np.bool_)
    for scale in samples.scales:
        rows = np.flatnonzero(samples.nodes == scale)
        count = max(round(VALIDATION_SHARE * rows.size), min(1, rows.size - 1))
        held[rng.choice(rows, count, replace=False)] = True
    return held


def scale_subsets(scales: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every combination of scales but the empty one: 255 of eight."""
    for size in range(len(scales), 0, -1):
        yield from combinations(scales, size)


@dataclass(frozen=True, slots=True, eq=False)
class _Bench:
    """What all trials of a search share."""

    technique: str
    given: Parameters
    features: Floats
    samples: WriteSamples
    held: Mask
    printed: bool = False

    def try_subset(self, subset: tuple[int, ...]) -> ScaleTrial | None:
        rows = ~self.held & np.isin(self.samples.nodes, subset)
        count = int(np.count_nonzero(rows))
        least_share = 0.0 if self.printed else LEAST_TRAINING_SHARE
        fewest = max(FEWEST_SAMPLES, least_share * np.count_nonzero(~self.held))
        if count < fewest:
            return None
        pipeline = fit(self.technique, self.given, self.features[rows], self.samples.seconds[rows])
        said = np.asarray(pipeline.predict(self.features[self.held]), dtype=np.float64)
        truth = self.samples.seconds[self.held]
        error = float(np.mean((said - truth) ** 2)) if self.printed else mean_error([log_errors(said, truth)])
        return ScaleTrial(self.technique, self.given, subset, count, error)


def tune(samples: WriteSamples, technique: str, seed: int = 0) -> Parameters:
    """The parameters with the least relative error over folds of whole patterns; the defaults where none vary."""
    grid = GRIDS.get(technique, ())
    if len(samples) < MIN_TUNING_SAMPLES or len(grid) < 2:
        return DEFAULTS[technique]
    rows = samples.matrix(trainable(samples.system.kind, technique))
    folds = grouped_folds(samples.shapes, seed)
    with quiet():
        errors = [mean_error(held_out(technique, given, (rows, samples.seconds), folds)) for given in grid]
    return grid[int(np.argmin(errors))]


def held_out(
    technique: str, given: Parameters, data: tuple[Floats, Floats], folds: Sequence[Fold]
) -> list[Floats]:
    """The errors of each fold by a model that did not see it; call it inside `quiet`."""
    rows, seconds = data

    def learn(train: Mask) -> Callable[[Mask], Floats]:
        pipeline = fit(technique, given, rows[train], seconds[train])
        return lambda asked: np.asarray(pipeline.predict(rows[asked]), dtype=np.float64)

    return fold_errors(learn, folds, seconds)


def search(
    samples: WriteSamples,
    technique: str,
    seed: int = 0,
    tick: Callable[[], object] = bool,
    printed: bool = False,
) -> ScaleSearch:
    """Tune the technique and train it on every combination of scales; `tick` is called after each.

    As printed nothing is tuned (lambda is 0.01), every combination may win, and mean square errors are compared.

    A stack weighs its members by scales itself, so it has one trial, on all of them, and no error here.
    """
    scales = samples.scales
    if technique == STACK:
        if len(samples) < FEWEST_STACKED:
            raise DataError(f"{len(samples)} samples are too few for a stack; at least {FEWEST_STACKED}")
        tick()
        return ScaleSearch(STACK, (ScaleTrial(STACK, {}, tuple(scales), len(samples), math.nan),))
    if len(scales) > MOST_SCALES:
        raise DataError(f"{len(scales)} write scales give too many combinations; at most {MOST_SCALES}")
    features = samples.matrix(trainable(samples.system.kind, technique))
    given = DEFAULTS[technique] if printed else tune(samples, technique, seed)
    bench = _Bench(technique, given, features, samples, split_validation(samples, seed), printed)
    trials = []
    with quiet():
        for subset in scale_subsets(scales):
            trials.append(bench.try_subset(subset))
            tick()
    usable = tuple(trial for trial in trials if trial is not None)
    if not usable:
        raise DataError(f"{len(samples)} samples over {len(scales)} scales are too few to hold a fifth out")
    return ScaleSearch(technique, usable)


def refit(samples: WriteSamples, trial: ScaleTrial, seed: int = 0, name: str = "") -> FittedModel:
    """The model of a trial, fitted on exactly the samples it was chosen with."""
    rows = ~split_validation(samples, seed) & np.isin(samples.nodes, trial.scales)
    return fit_model(name or trial.technique, trial.technique, trial.given, samples.take(rows))
