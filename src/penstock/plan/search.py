"""Choosing the scales to train on: every combination is tried, held-out samples decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from penstock.errors import DataError
from penstock.plan.features import trainable
from penstock.plan.fitted import FEWEST_SAMPLES, FittedModel, fit_model
from penstock.plan.samples import Mask, Samples
from penstock.plan.techniques import DEFAULTS, fit, quiet

Floats = npt.NDArray[np.float64]
VALIDATION_SHARE = 0.2
MOST_SCALES = 10


@dataclass(frozen=True, slots=True)
class Trial:
    """One trained model: the scales it saw and its error on the held-out samples of all scales."""

    technique: str
    scales: tuple[int, ...]
    samples: int
    mse: float


@dataclass(frozen=True, slots=True)
class Search:
    """All trials of a technique. `base` trained on every scale, `best` has the lowest error."""

    technique: str
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        """Among equals the one with the most samples."""
        return min(self.trials, key=lambda trial: (trial.mse, -trial.samples))

    @property
    def base(self) -> Trial:
        """The model nobody chose anything for."""
        return max(self.trials, key=lambda trial: len(trial.scales))


def split_validation(samples: Samples, seed: int) -> Mask:
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
    features: Floats
    samples: Samples
    held: Mask

    def try_subset(self, subset: tuple[int, ...]) -> Trial | None:
        rows = ~self.held & np.isin(self.samples.nodes, subset)
        count = int(np.count_nonzero(rows))
        if count < FEWEST_SAMPLES:
            return None
        given = DEFAULTS[self.technique]
        pipeline = fit(self.technique, given, self.features[rows], self.samples.seconds[rows])
        error = np.asarray(pipeline.predict(self.features[self.held])) - self.samples.seconds[self.held]
        return Trial(self.technique, subset, count, float(np.mean(error**2)))


def search(samples: Samples, technique: str, seed: int = 0, tick: Callable[[], object] = bool) -> Search:
    """Train the technique on every combination of scales; `tick` is called after each."""
    scales = samples.scales
    if len(scales) > MOST_SCALES:
        raise DataError(f"{len(scales)} write scales give too many combinations; at most {MOST_SCALES}")
    features = samples.matrix(trainable(samples.system.kind))
    bench = _Bench(technique, features, samples, split_validation(samples, seed))
    trials = []
    with quiet():
        for subset in scale_subsets(scales):
            trials.append(bench.try_subset(subset))
            tick()
    usable = tuple(trial for trial in trials if trial is not None)
    if not usable:
        raise DataError(f"{len(samples)} samples over {len(scales)} scales are too few to hold a fifth out")
    return Search(technique, usable)


def refit(samples: Samples, trial: Trial, seed: int = 0, name: str = "") -> FittedModel:
    """The model of a trial, fitted on exactly the samples it was chosen with."""
    rows = ~split_validation(samples, seed) & np.isin(samples.nodes, trial.scales)
    return fit_model(name or trial.technique, trial.technique, DEFAULTS[trial.technique], samples.take(rows))
