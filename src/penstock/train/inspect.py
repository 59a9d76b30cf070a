"""One sample of a data set: the model's probability, and each feature's contribution to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.errors import DataError, UsageError
from penstock.predict.explain import explain
from penstock.predict.model import Model
from penstock.train.samples import direction_of, samples
from penstock.train.table import TraceTable


@dataclass(frozen=True, slots=True)
class Inspected:
    """A sample by name with its candidate, and (feature, value, contribution) by falling weight."""

    sample: str
    direction: str
    pages: int
    flight: int
    probability: float
    base: float
    outside: tuple[str, ...]
    contributions: tuple[tuple[str, float, float], ...]


def inspect(model: Model, table: TraceTable, name: str, pages: int | None, flight: int | None) -> Inspected:
    """Explain the sample WORKLOAD/ITERATION/OST/OBSERVATION_NO, with its own candidate or another."""
    row = _find(table, name)
    part = model[direction_of(str(table.workload[row]))]
    found = samples(table, part.direction, part.history, part.features)
    at = np.flatnonzero(found.middle == row)
    if not len(at):
        raise DataError(f"{name} is no sample: it needs a row before it, one after it, and traffic in both")
    asked = (
        float(pages if pages is not None else table.column("pages")[row + 1]),
        float(flight if flight is not None else table.column("flight")[row + 1]),
    )
    past = found.past[at]
    vector = np.concatenate([past[0], part.features.candidate(np.array([asked]))[0]])
    why = explain(part.forest, vector)
    order = np.argsort(-np.abs(why.contributions))
    return Inspected(
        sample=name,
        direction=part.direction,
        pages=int(asked[0]),
        flight=int(asked[1]),
        probability=why.probability,
        base=why.base,
        outside=tuple(part.outside(past)[0]),
        contributions=tuple((part.names[i], float(vector[i]), float(why.contributions[i])) for i in order),
    )


def _find(table: TraceTable, name: str) -> int:
    parts = name.split("/")
    if len(parts) != 4 or not all(part.lstrip("-").isdigit() for part in parts[1:]):
        raise UsageError(
            f"sample {name!r} is not WORKLOAD/ITERATION/OST/OBSERVATION_NO, as in seq_w_1_io_1m/10/7/25"
        )
    iteration, ost, number = (int(part) for part in parts[1:])
    hits = np.flatnonzero(
        (table.workload == parts[0])
        & (table.iteration == iteration)
        & (table.ost == ost)
        & (table.observation_no == number)
    )
    if not len(hits):
        raise DataError(f"the data holds no row {name}")
    return int(hits[0])
