"""Recordings of held settings as a table to learn from: what another setting brought instead of the one in force.

A held setting never changes, so no three rows of a recording show what a change brings. But the same program ran
under every setting: an interval at one of them, with the one before it, is followed by an interval at another, drawn
at random. So the model learns what holding another setting brings, not what the moment of changing it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np

from penstock.errors import DataError
from penstock.predict.features import MEASURES, measure
from penstock.train.held import read_held
from penstock.train.intervals import RecordedWorkload
from penstock.train.table import NUMBERS, SHARED, TraceTable
from penstock.window import DIRECTIONS, Window

# A slow setting drains its cache for long: of each setting no more intervals than this are taken.
MOST_INTERVALS = 24


def read(directory: Path) -> TraceTable:
    """All recordings of a directory. A workload is one run, so that all of it is held out together."""
    found = [
        (number, 4 * place, workload.name, triple)
        for number, workload in enumerate(read_held(directory))
        for place, triple in enumerate(_triples(workload))
    ]
    if not found:
        raise DataError(f"{directory}: no setting was recorded for two intervals in a row")
    # Numbers leave a gap after each three rows: what follows is not their continuation.
    rows = [
        (name, run, first + at, _numbers(window))
        for run, first, name, triple in found
        for at, window in enumerate(triple)
    ]
    names, runs, observations, numbers = zip(*rows, strict=True)
    return TraceTable(
        np.array(names, dtype=np.str_),
        np.array(runs, dtype=np.int64),
        np.zeros(len(rows), dtype=np.int64),
        np.array(observations, dtype=np.int64),
        np.array(numbers, dtype=np.float64),
    )


def _triples(workload: RecordedWorkload) -> Iterator[tuple[Window, Window, Window]]:
    rng = Random(f"held/{workload.name}")
    for setting in workload.settings:
        recorded = list(workload.intervals[setting])
        for interval in rng.sample(recorded, min(len(recorded), MOST_INTERVALS)):
            if not interval.before:
                continue
            for other in workload.settings:
                if other != setting:
                    there = rng.choice(workload.intervals[other]).window
                    yield interval.before[-1], interval.window, there


def _numbers(window: Window) -> list[float]:
    both = {
        direction: dict(zip(MEASURES, measure(window, direction), strict=True)) for direction in DIRECTIONS
    }
    shared = {name: both["read"][name] for name in SHARED}
    each = {
        f"{direction}_{name}": value for direction, found in both.items() for name, value in found.items()
    }
    return [float(np.nan_to_num({**each, **shared}[name])) for name in NUMBERS]
