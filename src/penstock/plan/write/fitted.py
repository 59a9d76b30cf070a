"""A model fitted to samples, and its predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import DataError
from penstock.plan.storage import StorageSystem
from penstock.plan.write import contributions
from penstock.plan.write.folds import LEVEL, Mask, Spread
from penstock.plan.write.idea_spread import IdeaSpread
from penstock.plan.write.pattern import WritePattern
from penstock.plan.write.prediction import Range, TimeInterval, WritePrediction, drivers, outside_of
from penstock.plan.write.stacked import Stack
from penstock.plan.write.support import ROUNDING, UNTESTED, AmountReach, Support, reach_of
from penstock.plan.write.techniques import Parameters, fit, quiet
from penstock.plan.write.terms import matrix, trainable
from penstock.plan.write.write_samples import WriteSamples, question_columns
from penstock.units import MB, format_size

Floats = npt.NDArray[np.float64]
FEWEST_SAMPLES = 8
# What is written: the products that give it in 10^6 bytes, and how it is called.
AMOUNTS = {"K": "a burst of", "m*n*K": "altogether"}


@dataclass(frozen=True, slots=True)
class Spreads:
    """How far the truth may lie off: inside the measured scales, and for each doubling beyond the largest one.

    Beyond them a stack has its `ideas` instead.
    """

    inside: Spread | None = None
    beyond: Spread | None = None
    ideas: IdeaSpread | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """What was timed: `write` or `read`, each process its `own` file or all one `shared` one."""

    operation: str = "write"
    files: str = "own"


@dataclass(frozen=True, slots=True, eq=False)
class FittedModel:
    """Samples, technique and parameters determine the model: fitting them again gives the same one."""

    name: str
    technique: str
    given: Parameters
    samples: WriteSamples
    pipeline: Any = field(repr=False)
    spreads: Spreads = Spreads()
    subject: Subject = Subject()
    support: Support = UNTESTED

    @property
    def features(self) -> tuple[str, ...]:
        """The features by name, in the order of the design matrix."""
        return trainable(self.samples.system.kind, self.technique)

    @property
    def operation(self) -> str:
        """What was timed: `write` or `read`."""
        return self.subject.operation

    def predict(self, system: StorageSystem, pattern: WritePattern) -> WritePrediction:
        """Seconds and their composition; what lies outside the training samples is flagged."""
        columns = question_columns(system, [pattern])
        known = {name: float(values[0]) for name, values in columns.items()}
        row = matrix(self.features, columns)
        interval = self._interval(columns)
        seconds = float(self.pipeline.predict(row)[0])
        shares = contributions.split(self.technique, self.pipeline, self.features, row[0])
        # The last share takes up rounding, so that the shares add up exactly.
        shares["intercept"] += seconds - sum(shares.values())
        return WritePrediction(
            seconds=seconds,
            model=self.name,
            features={
                **known,
                **{name: float(value) for name, value in zip(self.features, row[0], strict=True)},
            },
            contributions=shares,
            outside=outside_of(self, {**drivers(system, pattern), **_loads(known), "seconds": seconds}),
            notes=self._notes(system),
            interval=interval,
            refused=self._refusal(columns, seconds),
        )

    def supported(self, columns: Mapping[str, Floats], seconds: Floats) -> Mask:
        """Which forecasts the model's own held-out scales support.

        Beyond the measured scales none of a write that should take less than any sample: shorter samples were left
        out, so nothing was learnt of them.
        """
        far = np.log2(columns["m"] / max(self.samples.scales))
        known = (far <= self.support.doublings + ROUNDING) & (seconds >= self.samples.seconds.min())
        amounts = [self._reach(name).holds(_amounts(name, columns)) for name in AMOUNTS]
        return np.asarray(((far <= 0) | known) & np.all(amounts, axis=0))

    def _reach(self, name: str) -> AmountReach:
        """How far one of the `AMOUNTS` may go."""
        return reach_of(_amounts(name, self.samples.columns), self.samples.nodes, self.support)

    def _refusal(self, columns: Mapping[str, Floats], seconds: float) -> str | None:
        """Why there is no forecast; None where there is one."""
        if self.supported(columns, np.array([seconds]))[0]:
            return None
        nodes, largest, about = int(columns["m"][0]), max(self.samples.scales), self.subject.operation
        if nodes > self.support.limit(largest):
            return (
                f"no forecast for {nodes} nodes: {self.name} was measured on up to {largest}, and "
                f"{self.support.reason}; ask for up to {self.support.limit(largest)}, or measure larger {about}s"
            )
        for name, words in AMOUNTS.items():
            reach, asked = self._reach(name), _amounts(name, columns)
            if not reach.holds(asked)[0]:
                size, most, limit = (format_size(one * MB) for one in (asked[0], reach.largest, reach.limit))
                return (
                    f"no forecast for {words} {size}: {self.name} was measured with up to {most}; "
                    f"ask for up to {limit}, or measure larger {about}s"
                )
        return (
            f"no forecast for {nodes} nodes: it would be shorter than any {about} that {self.name} was fitted on "
            f"({self.samples.seconds.min():.3g} s), and of those nothing is known on more than {largest} nodes"
        )

    def _interval(self, columns: Mapping[str, Floats]) -> TimeInterval | None:
        low, high = self.bounds(columns)
        if not np.isfinite(low[0]):
            return None
        wider = bool(columns["m"][0] > max(self.samples.scales))
        spread = (self.spreads.ideas or self.spreads.beyond) if wider else self.spreads.inside
        larger = any(self._reach(name).far(_amounts(name, columns))[0] > 0 for name in AMOUNTS)
        # Intervals inside were tested on amounts that were measured, so for larger ones nothing is known of them.
        measured = None if spread is None or (larger and not wider) else spread.measured
        return TimeInterval(float(low[0]), float(high[0]), LEVEL, measured, wider or larger)

    def bounds(self, columns: Mapping[str, Floats]) -> tuple[Floats, Floats]:
        """Both ends of every row's interval in seconds; nan where none is known or the forecast is refused."""
        rows = matrix(self.features, columns)
        seconds = np.asarray(self.pipeline.predict(rows), dtype=np.float64)
        said = np.log(np.where(seconds > 0, seconds, np.nan))
        far = np.log2(columns["m"] / max(self.samples.scales))
        low, high = np.full(far.size, np.nan), np.full(far.size, np.nan)
        for spread, asked in ((self.spreads.inside, far <= 0), (self.spreads.beyond, far > 0)):
            if spread is not None:
                steps = np.where(far > 0, far, 1.0)[asked]
                low[asked], high[asked] = said[asked] + spread.low * steps, said[asked] + spread.high * steps
        asked = far > 0
        if self.spreads.ideas is not None and asked.any():
            members = self.pipeline.by_member(rows[asked])
            low[asked], high[asked] = self.spreads.ideas.ends(members, far[asked])
        if self.spreads.inside is not None:
            # Less is known beyond the scales than inside them.
            narrow = high - low < self.spreads.inside.high - self.spreads.inside.low
            low = np.where(narrow, np.minimum(low, said + self.spreads.inside.low), low)
            high = np.where(narrow, np.maximum(high, said + self.spreads.inside.high), high)
        unknown = ~self.supported(columns, seconds)
        low[unknown], high[unknown] = np.nan, np.nan
        return np.exp(low), np.exp(high)

    def seconds(self, system: StorageSystem, patterns: Sequence[WritePattern]) -> list[float]:
        """Predictions alone."""
        rows = matrix(self.features, question_columns(system, patterns))
        return [float(value) for value in self.pipeline.predict(rows)]

    def predict_samples(self, samples: WriteSamples) -> Floats:
        """Predictions for a table of samples."""
        return np.asarray(self.pipeline.predict(samples.matrix(self.features)), dtype=np.float64)

    def seen(self, name: str) -> Range | None:
        """The range of the training samples."""
        values = self.samples.seconds if name == "seconds" else self.samples.columns.get(name)
        return None if values is None else Range(float(values.min()), float(values.max()))

    def _notes(self, system: StorageSystem) -> tuple[str, ...]:
        trained, about = self.samples.system, self.subject
        notes = []
        if system != trained:
            notes.append(f"the model was fitted on {trained.name}, the question is about {system.name}")
        if about.files == "shared":
            notes.append(f"the model was fitted on {about.operation}s of one shared file")
        return tuple(notes)


def _amounts(name: str, columns: Mapping[str, Floats]) -> Floats:
    """One of the `AMOUNTS` of every row."""
    return np.asarray(np.prod([columns[part] for part in name.split("*")], axis=0))


def _loads(known: Mapping[str, float]) -> dict[str, float]:
    """The skews of a pattern. They may leave the training range even if m, n and K stay inside."""
    return {name: value for name, value in known.items() if name.startswith("s_")}


def fit_model(name: str, technique: str, given: Parameters, samples: WriteSamples) -> FittedModel:
    """Fit one technique on all the samples given; a stack without weights learns and keeps them."""
    if len(samples) < FEWEST_SAMPLES:
        raise DataError(f"{len(samples)} samples to fit on; at least {FEWEST_SAMPLES} are needed")
    rows = samples.matrix(trainable(samples.system.kind, technique))
    with quiet():
        pipeline = fit(technique, given, rows, samples.seconds)
    if isinstance(pipeline, Stack):
        given = pipeline.weights
    return FittedModel(name, technique, given, samples, pipeline)
