"""The lasso models that the paper chose (Table VI), usable without training.

K is in 10^6 bytes. The printed table is damaged in several copies; these are the verified values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.plan.storage import StorageSystem
from penstock.plan.write.parameters import parameters, table
from penstock.plan.write.pattern import WritePattern
from penstock.plan.write.prediction import Range, WritePrediction, drivers, outside_of
from penstock.plan.write.terms import evaluate

# Writes shorter than this were left out of the training data.
SHORTEST_S = 5.0


@dataclass(frozen=True, slots=True)
class LinearModel:
    """An intercept and a coefficient for each feature by name."""

    name: str
    trained_on: str
    intercept: float
    coefficients: Mapping[str, float]
    ranges: Mapping[str, Range]
    operation: str = "write"

    def predict(self, system: StorageSystem, pattern: WritePattern) -> WritePrediction:
        """Seconds, with every term's share; warns where the coefficients belong to another system."""
        known = parameters(system, pattern)
        terms = {name: self._value(name, known) for name in self.coefficients}
        shares = {"intercept": self.intercept}
        shares.update({name: factor * terms[name] for name, factor in self.coefficients.items()})
        seconds = sum(shares.values())
        return WritePrediction(
            seconds=seconds,
            model=self.name,
            features={**known, **terms},
            contributions=shares,
            outside=outside_of(self, {**drivers(system, pattern), "seconds": seconds}),
            notes=self._notes(system),
        )

    def seconds(self, system: StorageSystem, patterns: Sequence[WritePattern]) -> list[float]:
        """The predictions without their composition."""
        known = table(system, patterns)
        total = np.full(len(patterns), self.intercept)
        for name, factor in self.coefficients.items():
            total += factor * evaluate(name, known)
        return [float(value) for value in total]

    def seen(self, name: str) -> Range | None:
        """The range stated in Tables IV to VI."""
        return self.ranges.get(name)

    def _value(self, name: str, known: Mapping[str, float]) -> float:
        return float(evaluate(name, {key: np.asarray(value) for key, value in known.items()}))

    def _notes(self, system: StorageSystem) -> tuple[str, ...]:
        if system.name == self.trained_on:
            return ()
        return (
            f"the published coefficients belong to {self.trained_on}, not to {system.name}: fit your own",
        )


_COMMON = {"n": Range(1, 16), "K": Range(1, 10240), "seconds": Range(SHORTEST_S, float("inf"))}
PUBLISHED: Mapping[str, LinearModel] = {
    "gpfs": LinearModel(
        name="published",
        trained_on="cetus",
        intercept=0.902,
        coefficients={
            "n": 0.0864,
            "s_l*n*K": 5.812e-4,
            "s_b*n*K": 4.301e-5,
            "m*n": 2.646e-4,
            "n*K": 0.0022,
            "n_nsds": 2.535e-4,
            "s_io*n*K": 5.167e-4,
            "n_nsd": 3.238e-6,
            "(s_l*n*K)*(s_b*n*K)": 5.958e-13,
            "(s_b*n*K)*n_nsds": 2.97e-10,
        },
        ranges={"m": Range(32, 128), **_COMMON},
    ),
    "lustre": LinearModel(
        name="published",
        trained_on="titan",
        intercept=1.7826,
        coefficients={
            "K": 3.485e-4,
            "n_r": -0.010,
            "s_r*n*K": 2.91e-4,
            "s_ost": 8.963e-5,
            "m*n*K": 1.463e-6,
            "n*K": 2.116e-4,
            "(n*K)*(s_r*n*K)": 9.315e-11,
            "(s_r*n*K)*n_oss": 1.925e-10,
        },
        ranges={"m": Range(16, 128), "W": Range(1, 64), **_COMMON},
    ),
}


def published_model(system: StorageSystem) -> LinearModel:
    """The published model of the system's kind of file system."""
    return PUBLISHED[system.kind]
