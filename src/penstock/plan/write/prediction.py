"""The prediction for one write: seconds, their composition, and which inputs lie outside the training range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.plan.storage import StorageSystem
from penstock.plan.write.pattern import WritePattern


@dataclass(frozen=True, slots=True)
class Range:
    """The values a model has seen, both ends included."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether a value lies inside, give or take rounding."""
        slack = 1e-9 * abs(value)
        return self.low - slack <= value <= self.high + slack


@dataclass(frozen=True, slots=True)
class Outside:
    """A quantity beyond the range its model was trained on."""

    name: str
    value: float
    seen: Range


@dataclass(frozen=True, slots=True)
class TimeInterval:
    """The range in which the write time lies with probability `level`.

    `measured` is the share of held-out samples that such ranges really contained. `beyond` says that the question
    lies beyond the largest measured scale; the range then comes from holding larger scales out.
    """

    low_s: float
    high_s: float
    level: float
    measured: float | None
    beyond: bool


@dataclass(frozen=True, slots=True)
class WritePrediction:
    """The predicted mean write time. `contributions` are signed seconds and sum to `seconds`.

    `refused` says why this is no forecast to show: the question lies beyond what the model's own held-out scales
    support.
    """

    seconds: float
    model: str
    features: Mapping[str, float]
    contributions: Mapping[str, float]
    outside: tuple[Outside, ...]
    notes: tuple[str, ...] = ()
    interval: TimeInterval | None = None
    refused: str | None = None


class WriteModel(Protocol):
    """Anything that turns a pattern on a system into a prediction."""

    @property
    def name(self) -> str:
        """What the user asked for: `published` or a file."""

    @property
    def operation(self) -> str:
        """What was timed: `write` or `read`."""

    def predict(self, system: StorageSystem, pattern: WritePattern) -> WritePrediction:
        """The mean write time of a pattern and what makes it up."""

    def seconds(self, system: StorageSystem, patterns: Sequence[WritePattern]) -> list[float]:
        """The mean write times alone, as cheaply as the model can."""

    def seen(self, name: str) -> Range | None:
        """The training range of `m`, `n`, `K`, `T` or `W`, where it is known."""


def outside_of(model: WriteModel, values: Mapping[str, float]) -> tuple[Outside, ...]:
    """The values that lie beyond what a model has seen."""
    found = []
    for name, value in values.items():
        seen = model.seen(name)
        if seen is not None and not seen.holds(value):
            found.append(Outside(name, value, seen))
    return tuple(found)


def drivers(system: StorageSystem, pattern: WritePattern) -> dict[str, float]:
    """The quantities a user chooses, which a training range is stated in (K in 10^6 bytes)."""
    chosen: dict[str, float] = {"m": pattern.nodes, "n": pattern.cores, "K": pattern.burst_bytes / 1e6}
    if system.kind == "lustre":
        chosen["W"] = pattern.stripes
    if pattern.transfer_bytes is not None:
        chosen["T"] = pattern.call_bytes / 1e6
    return chosen
