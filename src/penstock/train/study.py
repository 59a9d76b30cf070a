"""A study of how much history a model needs and how often to probe, with held-out results for each choice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from penstock.train.boost import Boosting
from penstock.train.fit import (
    BOOSTING,
    Progress,
    check_samples,
    cross_calibrated,
    grow,
    soft_labels,
    split_runs,
)
from penstock.train.judge import Judgement, judge
from penstock.train.samples import Samples, samples
from penstock.train.table import NUMBERS, TraceTable
from penstock.window import DIRECTIONS

_SUMMED = ("seconds", *(name for name in NUMBERS if name.startswith(("read_", "write_"))))


@dataclass(frozen=True, slots=True)
class StudyPoint:
    """One direction with one history length and one probing interval."""

    direction: str
    history: int
    merged: int
    interval_s: float
    judgement: Judgement


def study(
    table: TraceTable, histories: tuple[int, ...], merges: tuple[int, ...], folds: int, say: Progress
) -> Iterator[StudyPoint]:
    """Every history length at the recorded interval, then every merged interval with the shortest and longest
    history.
    """
    for direction in DIRECTIONS:
        for history in histories:
            yield from _point(table, direction, history, 1, folds)
            say(f"{direction}: history {history}")
        for merged in merges:
            coarser = merge(table, merged) if merged > 1 else None
            for history in {min(1, max(histories)), max(histories)}:
                if coarser is not None:
                    yield from _point(coarser, direction, history, merged, folds)
                    say(f"{direction}: {merged} intervals merged, history {history}")


def merge(table: TraceTable, count: int) -> TraceTable:
    """Rows as a probe `count` times slower would have seen them: sums are added, gauges and settings are the last
    ones.

    If the setting changed at every row, a merged interval covers several. Like any window it has the last one.
    """
    series = table.series()
    first = np.flatnonzero(np.r_[True, np.diff(series) > 0])
    place = np.arange(len(table)) - first[series]
    number = place // count
    key = np.cumsum(np.r_[True, (np.diff(series) > 0) | (np.diff(number) > 0)]) - 1
    complete = np.bincount(key)[key] == count
    last = complete & (place % count == count - 1)
    merged = table.take(last)
    values = merged.values.copy()
    for name in _SUMMED:
        column = NUMBERS.index(name)
        values[:, column] = np.bincount(key, table.values[:, column])[key[last]]
    return TraceTable(merged.workload, merged.iteration, merged.ost, number[last], values)


def _point(table: TraceTable, direction: str, history: int, merged: int, folds: int) -> Iterator[StudyPoint]:
    found = samples(table, direction, history)
    if not len(found):
        return
    check_samples(found)
    interval_s = float(np.median(table.column("seconds")[found.middle]))
    yield StudyPoint(direction, history, merged, interval_s, held_out_judgement(found, folds))


def held_out_judgement(found: Samples, folds: int, how: Boosting | None = None) -> Judgement:
    """How the default trees do on runs they did not see."""
    how = how or BOOSTING[found.direction]
    vectors, target = found.vectors, soft_labels(found)
    raw = np.empty(len(found))
    for held_out in split_runs(found.run, folds, how.seed):
        raw[held_out] = grow(vectors[~held_out], target[~held_out], how, vectors[held_out])
    return judge(found.label, cross_calibrated(raw, found.label, found.run))
