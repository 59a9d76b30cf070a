"""Applies a model to a data set: one probability per sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from penstock.errors import DataError
from penstock.predict.model import DirectionModel, Model
from penstock.predict.trees import compile_forest, scores
from penstock.predict.trees.forest import Floats
from penstock.train.samples import Samples, samples
from penstock.train.table import TraceTable

_CHUNK = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """The samples of one direction and the model's probability for each."""

    found: Samples
    p: Floats


def predictions(model: Model, table: TraceTable) -> Iterator[Prediction]:
    """Every direction that the table has samples of and the model knows. There must be at least one."""
    done = 0
    for direction, part in model.directions.items():
        found = samples(table, direction, part.history, part.features)
        if len(found):
            yield Prediction(found, probabilities(part, found))
            done += 1
    if not done:
        raise DataError(f"the data holds no sample of {' or '.join(model.directions)}, all this model knows")


def probabilities(part: DirectionModel, found: Samples) -> Floats:
    """The probability of each sample's own candidate."""
    candidates, at = np.unique(found.candidate, axis=0, return_inverse=True)
    compiled = compile_forest(part.forest, candidates)
    p = np.empty(len(found))
    for start in range(0, len(found), _CHUNK):
        rows = slice(start, start + _CHUNK)
        table = scores(compiled, found.past[rows])
        p[rows] = table[np.arange(len(table)), at.reshape(-1)[rows]]
    return part.forest.probability(p)


def seen_runs(model: Model, table: TraceTable) -> list[str]:
    """The runs of the table that the model was trained on. A judgement on these would be too good."""
    trained = model.provenance.get("runs")
    known = set(trained) if isinstance(trained, list) else set()
    return sorted(known & set(run_names(table)))


def run_names(table: TraceTable) -> list[str]:
    """`workload/iteration` of every run, sorted."""
    pairs = np.char.add(np.char.add(table.workload, "/"), table.iteration.astype(np.str_))
    return [str(name) for name in np.unique(pairs)]
