"""Surrogates: one regression per elemental operation, chosen among four families by cross-validation.

Input and output are logarithms, so errors are ratios at every size, and a cost that is a power of the size is a
straight line. Each family learns only what a robust line does not explain. A surrogate is evaluated only inside its
measured range. Beyond the largest size the seconds grow in proportion to the bytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import DataError, require_extra
from penstock.plan.collective.operation_profile import (
    OPERATIONS,
    OperationProfile,
    OperationSample,
    SurrogateChoice,
)

FOLDS = 10
LEAST_SAMPLES = 3
ROBUST_ROUNDS = 8
RIDGE = 1e-6
Floats = npt.NDArray[np.float64]

# The families and the settings of each that cross-validation compares.
GRIDS: dict[str, dict[str, tuple[float | int | str, ...]]] = {
    "knn": {"n_neighbors": (2, 3, 5), "weights": ("distance",)},
    "svr-rbf": {"C": (0.3, 3.0, 30.0), "gamma": (0.1, 0.3), "epsilon": (0.05,)},
    "forest": {"n_estimators": (30,), "min_samples_leaf": (1, 2)},
    "boosting": {"n_estimators": (80,), "max_depth": (2,), "learning_rate": (0.1,)},
}


@dataclass(frozen=True, slots=True)
class Query:
    """One elemental operation at one size."""

    operation: str
    ranks: int
    aggregators: int
    bytes: int
    piece_bytes: int


def settings() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every family with every combination of its settings."""
    for algorithm, grid in GRIDS.items():
        for values in itertools.product(*grid.values()):
            yield algorithm, dict(zip(grid, values, strict=True))


def make(algorithm: str, parameters: dict[str, Any]) -> Any:
    """An untrained regression of a family; its features are scaled to equal spread first."""
    try:
        from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
        from sklearn.neighbors import KNeighborsRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import SVR
    except ImportError as error:
        raise require_extra("plan", error) from error
    families = {"knn": KNeighborsRegressor, "svr-rbf": SVR}
    seeded = {"forest": RandomForestRegressor, "boosting": GradientBoostingRegressor}
    if algorithm in seeded:
        return Detrended(seeded[algorithm](random_state=0, **parameters))
    if algorithm not in families:
        raise DataError(f"surrogate algorithm {algorithm!r} is not one of {', '.join(GRIDS)}")
    return Detrended(make_pipeline(StandardScaler(), families[algorithm](**parameters)))


class Detrended:
    """A robust straight line, and a second regression for the residuals."""

    def __init__(self, rest: Any) -> None:
        self._rest = rest
        self._line: Floats = np.zeros(1)

    def fit(self, inputs: Floats, target: Floats) -> Detrended:
        """Fit both parts. Outliers have little influence on the line."""
        self._line = robust_line(inputs, target)
        self._rest.fit(inputs, target - _with_one(inputs) @ self._line)
        return self

    def predict(self, inputs: Floats) -> Floats:
        """The sum of both parts."""
        both: Floats = _with_one(inputs) @ self._line + self._rest.predict(inputs)
        return both


def robust_line(inputs: Floats, target: Floats) -> Floats:
    """Least squares in which a point far from the line weighs less (Huber's weights, a few rounds)."""
    design = _with_one(inputs)
    weights = np.ones(len(target))
    for _ in range(ROBUST_ROUNDS):
        weighted = design * weights[:, None]
        ridge = RIDGE * len(target) * np.eye(design.shape[1])
        line = np.linalg.solve(weighted.T @ design + ridge, weighted.T @ target)
        far = np.abs(target - design @ line)
        scale = max(1e-9, 1.4826 * float(np.median(far)))
        weights = np.minimum(1.0, 1.345 * scale / np.maximum(far, 1e-12))
    return np.asarray(line, dtype=np.float64)


def _with_one(inputs: Floats) -> Floats:
    return np.column_stack([inputs, np.ones(len(inputs))])


def features(points: Sequence[OperationSample | Query]) -> Floats:
    """The logarithms of ranks, aggregators, bytes and pieces a message, one row a point."""
    rows = [
        (point.ranks, point.aggregators, point.bytes, max(1, point.bytes // point.piece_bytes))
        for point in points
    ]
    return np.log2(np.asarray(rows, dtype=np.float64))


def choose(profile: OperationProfile) -> OperationProfile:
    """The profile with the surrogate of each operation chosen by cross-validation."""
    present = [name for name in OPERATIONS if profile.of(name)]
    chosen = tuple(min(compare(profile, name), key=lambda one: one.relative_rmse) for name in present)
    return profile.model_copy(update={"surrogates": chosen})


def compare(profile: OperationProfile, operation: str) -> list[SurrogateChoice]:
    """Each family at its best setting: its cross-validated R2, error in seconds and relative error."""
    samples = profile.of(operation)
    if len(samples) < LEAST_SAMPLES:
        raise DataError(
            f"operation {operation!r} has {len(samples)} samples; a surrogate needs {LEAST_SAMPLES}"
        )
    inputs = features(samples)
    seconds = np.array([sample.seconds for sample in samples])
    best: dict[str, SurrogateChoice] = {}
    for algorithm, parameters in settings():
        guesses = _held_out(algorithm, parameters, inputs, np.log(seconds))
        if guesses is None:
            continue
        scored = _scored(operation, (algorithm, parameters), seconds, guesses)
        if algorithm not in best or scored.relative_rmse < best[algorithm].relative_rmse:
            best[algorithm] = scored
    return list(best.values())


def _held_out(algorithm: str, parameters: dict[str, Any], inputs: Floats, target: Floats) -> Floats | None:
    """Every point's prediction by a model that did not see it; None where folds are too small."""
    folds = min(FOLDS, len(target))
    if parameters.get("n_neighbors", 0) > len(target) - -(-len(target) // folds):
        return None
    order = np.random.default_rng(0).permutation(len(target))
    guesses = np.empty_like(target)
    for fold in range(folds):
        held = order[fold::folds]
        kept = np.setdiff1d(order, held)
        guesses[held] = make(algorithm, parameters).fit(inputs[kept], target[kept]).predict(inputs[held])
    return guesses


def _scored(
    operation: str, made: tuple[str, dict[str, Any]], seconds: Floats, guesses: Floats
) -> SurrogateChoice:
    errors = np.exp(guesses) - seconds
    spread = float(np.sum((seconds - seconds.mean()) ** 2))
    return SurrogateChoice(
        operation=operation,
        algorithm=made[0],
        parameters=made[1],
        r2=1.0 - float(np.sum(errors**2)) / spread if spread > 0 else 0.0,
        rmse_s=float(np.sqrt(np.mean(errors**2))),
        relative_rmse=float(np.sqrt(np.mean((guesses - np.log(seconds)) ** 2))),
    )


class Surrogates:
    """The fitted surrogates of a profile. Fitting is repeatable: equal profiles give equal predictions."""

    def __init__(self, profile: OperationProfile) -> None:
        if not profile.surrogates:
            profile = choose(profile)
        self.profile = profile
        self.choices = {choice.operation: choice for choice in profile.surrogates}
        self._models: dict[str, Any] = {}
        for name, choice in self.choices.items():
            samples = profile.of(name)
            if not samples:
                raise DataError(f"{profile.directory}: surrogate for {name!r} has no samples")
            target = np.log([sample.seconds for sample in samples])
            model = make(choice.algorithm, dict(choice.parameters))
            self._models[name] = model.fit(features(samples), target)

    def seconds(self, queries: Sequence[Query]) -> Floats:
        """The predicted seconds of each query."""
        answers = np.zeros(len(queries))
        for name in {query.operation for query in queries}:
            if name not in self._models:
                raise DataError(f"profile of {self.profile.directory} has no samples of {name!r}")
            places = [place for place, query in enumerate(queries) if query.operation == name]
            inside, scale = zip(*(self._inside(queries[place]) for place in places), strict=True)
            answers[places] = np.exp(self._models[name].predict(features(inside))) * scale
        return answers

    def _inside(self, query: Query) -> tuple[Query, float]:
        """The nearest point of the measured range, and the factor that the real size takes longer."""
        samples = self.profile.of(query.operation)
        ranks = _clamp(query.ranks, [sample.ranks for sample in samples])
        aggregators = _clamp(query.aggregators, [sample.aggregators for sample in samples])
        near = [sample.bytes for sample in samples if sample.aggregators >= aggregators]
        size = _clamp(query.bytes, near)
        piece = max(1, min(query.piece_bytes, size))
        inside = Query(query.operation, ranks, aggregators, size, piece)
        return inside, max(1.0, query.bytes / size)


def _clamp(value: int, measured: Sequence[int]) -> int:
    return max(min(measured), min(value, max(measured)))
