"""Fits models: samples of whole runs in, a calibrated model out, judged only on runs it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from penstock.errors import DataError
from penstock.predict.featuresets import FULL, PRINTED, FeatureSet
from penstock.predict.model import DirectionModel
from penstock.predict.trees.forest import Floats
from penstock.train.boost import Boosting, boost, to_forest
from penstock.train.calibrate import calibrate
from penstock.train.judge import Judgement, Labels, judge
from penstock.train.samples import APPLICATION, GAIN, WIRE, Samples, samples
from penstock.train.table import Ints, TraceTable
from penstock.window import DIRECTIONS

# The result of the study in docs/explanation/learning.md: reads need no history, writes do because of the dirty data.
HISTORY = {"read": 1, "write": 8}
# A measured gain of 1.16 may really be 1.14, so labels near the threshold are fractional. The width is in log2 units.
BLUR = {"read": 0.03, "write": 0.05}
# Reads are a precise function of few features and can use large trees. Writes are noisier.
BOOSTING = {
    "read": Boosting(
        rounds=200, learning_rate=0.05, num_leaves=95, min_data_in_leaf=15, feature_fraction=0.8
    ),
    "write": Boosting(),
}
FOLDS = 4
_UNBOUNDED = 1e12

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that determines the result of a fit besides the data.

    `label` is what a gain is counted in: bytes on the wire, or what applications got from held settings.
    Labels are `soft` (fractional near the threshold) or 0 and 1. A model that is not `calibrated` returns the output
    of its trees.
    """

    history: dict[str, int] = field(default_factory=lambda: dict(HISTORY))
    boosting: dict[str, Boosting] = field(default_factory=lambda: dict(BOOSTING))
    folds: int = FOLDS
    features: FeatureSet = FULL
    soft: bool = True
    calibrated: bool = True
    label: str = WIRE


def as_printed() -> Recipe:
    """CARAT's own model: its six metrics and their changes, k = 1, hard labels, no calibration.

    The papers leave the tree parameters to a search. These are ours, so that only features and labels differ.
    """
    return Recipe(dict.fromkeys(DIRECTIONS, 1), features=PRINTED, soft=False, calibrated=False)


#: The recipes by the names that policies use. `forest` is the shipped default.
RECIPES: Mapping[str, Callable[[], Recipe]] = {
    "forest": Recipe,
    "printed": as_printed,
    "printed-history": lambda: replace(as_printed(), history=dict(HISTORY)),
    "printed-soft": lambda: replace(as_printed(), soft=True, calibrated=True),
    "printed-application": lambda: replace(as_printed(), label=APPLICATION),
}


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A fitted direction, with its predictions for runs it had not seen."""

    part: DirectionModel
    label: Labels
    held_out: Floats
    judgement: Judgement


def fit_direction(found: Samples, recipe: Recipe, say: Progress) -> Fit:
    """Grow trees on folds of whole runs, calibrate on the part each fold did not see, then grow trees on
    everything.
    """
    check_samples(found)
    how, direction = recipe.boosting[found.direction], found.direction
    vectors, target = found.vectors, soft_labels(found) if recipe.soft else found.label.astype(np.float64)
    raw = np.empty(len(found))
    for number, held_out in enumerate(split_runs(found.run, recipe.folds, how.seed), start=1):
        say(f"{direction}: fold {number} of {recipe.folds}, {int((~held_out).sum())} samples")
        raw[held_out] = grow(vectors[~held_out], target[~held_out], how, vectors[held_out])
    slope, intercept = calibrate(raw, found.label) if recipe.calibrated else (1.0, 0.0)
    say(f"{direction}: all {len(found)} samples")
    forest = to_forest(boost(vectors, target, how), slope, intercept)
    p = cross_calibrated(raw, found.label, found.run) if recipe.calibrated else forest.probability(raw)
    verdict = judge(found.label, p)
    low, high = bounds(vectors)
    metrics = {f"held_out_{name}": value for name, value in asdict(verdict).items() if value is not None}
    history = recipe.history[direction]
    names = recipe.features.names(direction, history)
    part = DirectionModel(direction, history, names, forest, low, high, metrics, recipe.features)
    return Fit(part, found.label, p, verdict)


def fit_all(table: TraceTable, recipe: Recipe, say: Progress) -> Iterator[Fit]:
    """Fit every direction of which the table holds samples; at least one must."""
    drawn = (samples(table, way, recipe.history[way], recipe.features, recipe.label) for way in DIRECTIONS)
    yield from fit_samples(drawn, recipe, say)


def fit_samples(drawn: Iterable[Samples], recipe: Recipe, say: Progress) -> Iterator[Fit]:
    """Fit every direction of which there are samples; at least one must."""
    done = 0
    for found in drawn:
        if len(found):
            yield fit_direction(found, recipe, say)
            done += 1
        else:
            say(f"{found.direction}: no samples, so the model will not know this direction")
    if not done:
        raise DataError("no sample: no three consecutive rows with traffic in the middle and the last")


def soft_labels(found: Samples) -> Floats:
    """Fractional labels: near the threshold a measured gain is only evidence of the true one."""
    distance = np.log2(np.clip(found.gain, 1e-9, 1e9) / GAIN) / BLUR[found.direction]
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(1.702 * distance, -40.0, 40.0))))


def grow(vectors: Floats, target: Floats, how: Boosting, unseen: Floats) -> Floats:
    """Scores of samples by trees grown on others."""
    return np.asarray(boost(vectors, target, how).predict(unseen, raw_score=True, num_threads=how.threads))


def split_runs(run: Ints, folds: int, seed: int) -> Iterator[np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Masks of held-out samples. Every run is held out once, always as a whole."""
    runs = np.unique(run)
    if len(runs) < 2:
        raise DataError("all samples come from one run: nothing can be held out to judge and calibrate by")
    folds = min(folds, len(runs))
    fold_of = dict(
        zip(np.random.default_rng(seed).permutation(runs), np.arange(len(runs)) % folds, strict=True)
    )
    at = np.array([fold_of[value] for value in run])
    for fold in range(folds):
        yield at == fold


def cross_calibrated(raw: Floats, label: Labels, run: Ints) -> Floats:
    """Probabilities for judging: each half of the runs is calibrated with the other half."""
    p = np.empty(len(raw))
    for half in split_runs(run, 2, seed=1):
        slope, intercept = calibrate(raw[~half], label[~half])
        p[half] = 1.0 / (1.0 + np.exp(-(slope * raw[half] + intercept)))
    return p


def check_samples(found: Samples) -> None:
    """Raise an error if there is nothing to learn from."""
    positives = int(found.label.sum())
    if positives in (0, len(found)):
        kind = "positive" if positives else "negative"
        raise DataError(f"{found.direction}: all {len(found)} samples are {kind}; one class teaches nothing")


def bounds(vectors: Floats) -> tuple[Floats, Floats]:
    """The range of each feature. A feature that was never known has no bounds."""
    known = ~np.isnan(vectors)
    low = np.where(known, vectors, np.inf).min(axis=0)
    high = np.where(known, vectors, -np.inf).max(axis=0)
    never = ~known.any(axis=0)
    return np.where(never, -_UNBOUNDED, low), np.where(never, _UNBOUNDED, high)
