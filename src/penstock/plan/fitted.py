"""A model fitted on samples: what it was given, and what it predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import DataError
from penstock.plan import contributions
from penstock.plan.features import matrix, trainable
from penstock.plan.parameters import parameters, table
from penstock.plan.pattern import WritePattern
from penstock.plan.prediction import Prediction, Range, drivers, outside_of
from penstock.plan.samples import Samples
from penstock.plan.system import System
from penstock.plan.techniques import Parameters, fit, quiet

Floats = npt.NDArray[np.float64]
FEWEST_SAMPLES = 8


@dataclass(frozen=True, slots=True, eq=False)
class FittedModel:
    """Samples, technique and parameters determine the model: fitting them again gives the same one."""

    name: str
    technique: str
    given: Parameters
    samples: Samples
    pipeline: Any = field(repr=False)

    @property
    def features(self) -> tuple[str, ...]:
        """The features by name, in the order of the design matrix."""
        return trainable(self.samples.system.kind)

    def predict(self, system: System, pattern: WritePattern) -> Prediction:
        """Seconds and their composition; what lies outside the training samples is flagged."""
        known = parameters(system, pattern)
        row = matrix(self.features, {name: np.array([value]) for name, value in known.items()})
        seconds = float(self.pipeline.predict(row)[0])
        shares = contributions.split(self.technique, self.pipeline, self.features, row[0])
        # Closing the sum keeps the promise that shares add up to the last digit.
        shares["intercept"] += seconds - sum(shares.values())
        return Prediction(
            seconds=seconds,
            model=self.name,
            features={
                **known,
                **{name: float(value) for name, value in zip(self.features, row[0], strict=True)},
            },
            contributions=shares,
            outside=outside_of(self, {**drivers(system, pattern), **_loads(known), "seconds": seconds}),
            notes=self._notes(system),
        )

    def seconds(self, system: System, patterns: Sequence[WritePattern]) -> list[float]:
        """Predictions alone."""
        rows = matrix(self.features, table(system, patterns))
        return [float(value) for value in self.pipeline.predict(rows)]

    def predict_samples(self, samples: Samples) -> Floats:
        """Predictions for a table of samples."""
        return np.asarray(self.pipeline.predict(samples.matrix(self.features)), dtype=np.float64)

    def seen(self, name: str) -> Range | None:
        """The range of the training samples."""
        values = self.samples.seconds if name == "seconds" else self.samples.columns.get(name)
        return None if values is None else Range(float(values.min()), float(values.max()))

    def _notes(self, system: System) -> tuple[str, ...]:
        trained = self.samples.system
        if system == trained:
            return ()
        return (f"the model was fitted on {trained.name}, the question is about {system.name}",)


def _loads(known: Mapping[str, float]) -> dict[str, float]:
    """The skews of a pattern, which may leave the training range while m, n and K stay inside."""
    return {name: value for name, value in known.items() if name.startswith("s_")}


def fit_model(name: str, technique: str, given: Parameters, samples: Samples) -> FittedModel:
    """Fit one technique on all the samples given."""
    if len(samples) < FEWEST_SAMPLES:
        raise DataError(f"{len(samples)} samples to fit on; at least {FEWEST_SAMPLES} are needed")
    with quiet():
        pipeline = fit(technique, given, samples.matrix(trainable(samples.system.kind)), samples.seconds)
    return FittedModel(name, technique, given, samples, pipeline)
