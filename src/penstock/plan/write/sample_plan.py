"""The cost of sampling, and the choice of patterns within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.errors import UsageError
from penstock.plan.storage import StorageSystem
from penstock.plan.write.fitted import FittedModel
from penstock.plan.write.location import locate
from penstock.plan.write.pattern import WritePattern
from penstock.plan.write.prediction import WriteModel
from penstock.plan.write.sampling import TRANSFER_BYTES, SamplePattern, Template
from penstock.plan.write.stacked import Stack
from penstock.plan.write.terms import matrix
from penstock.plan.write.write_samples import question_columns
from penstock.units import parse_duration, parse_size

Floats = npt.NDArray[np.float64]
SHORTEST_GUESS_S = 1.0
# A model needs about so many patterns, so none may take more than this part of the budget, while any does with less.
PATTERNS_WANTED = 30


@dataclass(frozen=True, slots=True)
class Budget:
    """How much sampling may take: seconds or bytes, the other is None."""

    seconds: float | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SampleCost:
    """What a plan writes. `seconds` is a model's guess, times the runs."""

    patterns: int
    runs: int
    bytes: int
    seconds: float


def parse_budget(text: str) -> Budget:
    """`2h` or `500GiB`: a time where it reads as one, else a size.

    >>> parse_budget("2h").seconds, parse_budget("500GiB").bytes
    (7200.0, 536870912000)
    """
    # A bare number would read as either, so it is neither.
    if not text.strip().replace(".", "").isdigit():
        with suppress(UsageError):
            return Budget(seconds=_positive(parse_duration(text), text))
        with suppress(UsageError):
            return Budget(bytes=int(_positive(parse_size(text), text)))
    raise UsageError(f"--budget {text!r} is neither a time such as 2h nor a size such as 500GiB")


def _positive(value: float, text: str) -> float:
    if value <= 0:
        raise UsageError(f"--budget {text!r} is not positive")
    return value


def expand(wanted: Sequence[Template]) -> list[SamplePattern]:
    """Every pattern of every template."""
    return [pattern for template in wanted for pattern in template.patterns()]


def guess_seconds(model: WriteModel, system: StorageSystem, patterns: Sequence[SamplePattern]) -> Floats:
    """What one run of each takes by a model; never less than starting a job does."""
    asked = _asked(system, patterns)
    return np.maximum(np.array(model.seconds(system, asked)), SHORTEST_GUESS_S) if asked else np.zeros(0)


def _asked(system: StorageSystem, patterns: Sequence[SamplePattern]) -> list[WritePattern]:
    return [
        WritePattern(
            locate(system, one.nodes, "scattered"), one.cores, one.burst_bytes, one.stripes, TRANSFER_BYTES
        )
        for one in patterns
    ]


def cost(patterns: Sequence[SamplePattern], seconds: Floats, runs_each: int) -> SampleCost:
    """Everything that writing each pattern so often takes."""
    written = sum(one.total_bytes for one in patterns) * runs_each
    return SampleCost(len(patterns), len(patterns) * runs_each, written, float(seconds.sum()) * runs_each)


def telling(model: WriteModel | None, system: StorageSystem, patterns: Sequence[SamplePattern]) -> Floats:
    """How much each pattern would teach: the disagreement of a stack's members, or else the distance from known
    samples.

    Without a fitted model nothing is known, and all patterns count the same.
    """
    if not isinstance(model, FittedModel) or not patterns:
        return np.ones(len(patterns))
    columns = question_columns(system, _asked(system, patterns))
    if isinstance(model.pipeline, Stack):
        return model.pipeline.disagreement(matrix(model.features, columns))
    known = np.log(np.column_stack([model.samples.columns[name] for name in ("m", "n", "K")]))
    asked = np.log(np.column_stack([columns[name] for name in ("m", "n", "K")]))
    return np.asarray(np.abs(asked[:, None, :] - known[None, :, :]).sum(axis=2).min(axis=1))


def within_budget(patterns: Sequence[SamplePattern], prices: Floats, worth: Floats, most: float) -> list[int]:
    """The indices of the patterns to write, in the order of what they teach: as different from each other and as
    informative as the budget allows.

    The first is the one with most information for its cost. Each next one is the affordable pattern with the largest
    product of information and distance (in doublings of nodes, processes, burst and stripes) from those chosen
    before. While a pattern of a thirtieth of the budget is left, none of more is chosen; then of a fifteenth, and so
    on.
    """
    spots = np.log2(
        np.array([[one.nodes, one.cores, one.burst_bytes, one.stripes] for one in patterns], dtype=np.float64)
    )
    chosen: list[int] = []
    left, distance, share = most, np.full(len(patterns), np.inf), most / PATTERNS_WANTED
    while True:
        open_ = (prices <= left) & (distance > 0)
        if not open_.any():
            return chosen
        while not (open_ & (prices <= share)).any():
            share *= 2
        open_ &= prices <= share
        gain = worth / prices if not chosen else worth * distance
        place = int(np.argmax(np.where(open_, gain, -np.inf)))
        chosen.append(place)
        left -= float(prices[place])
        distance = np.minimum(distance, np.abs(spots - spots[place]).sum(axis=1))
