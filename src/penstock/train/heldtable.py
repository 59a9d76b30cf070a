"""Recordings of held settings as a training table.

A held setting never changes, so consecutive rows of a recording do not show the effect of a change. But the same
program ran under every setting. So an interval at one setting, with the one before it, is followed by a random
interval at another setting. The model thus learns the effect of holding another setting, not of the moment of the
change.
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

# A slow setting empties its cache for long, so at most this many intervals are taken per setting.
MOST_INTERVALS = 24


def read(directory: Path) -> TraceTable:
    """All recordings of a directory. A workload is one run, so that it is held out as a whole."""
    found = [
        (number, 4 * place, workload.name, triple)
        for number, workload in enumerate(read_held(directory))
        for place, triple in enumerate(_triples(workload))
    ]
    if not found:
        raise DataError(f"{directory}: no setting was recorded for two intervals in a row")
    # The numbers leave a gap after every three rows, because the next row does not continue them.
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
