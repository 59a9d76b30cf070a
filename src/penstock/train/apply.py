"""A model applied to a data set: probabilities sample by sample, and how good they are."""

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
    """The samples of one direction and what the model says about each."""

    found: Samples
    p: Floats


def predictions(model: Model, table: TraceTable) -> Iterator[Prediction]:
    """Every direction of which the table holds samples and the model knows something; at least one must."""
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
    """Runs of the table that the model was trained on: a judgement over these flatters it."""
    trained = model.provenance.get("runs")
    known = set(trained) if isinstance(trained, list) else set()
    return sorted(known & set(run_names(table)))


def run_names(table: TraceTable) -> list[str]:
    """`workload/iteration` of every run, sorted."""
    pairs = np.char.add(np.char.add(table.workload, "/"), table.iteration.astype(np.str_))
    return [str(name) for name in np.unique(pairs)]
