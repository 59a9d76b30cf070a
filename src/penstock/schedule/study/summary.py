"""Means, intervals and paired comparisons over rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from penstock.schedule.study.trial import Method, TrialRow

Metric = Callable[[TrialRow], float]


class RowSet:
    """Rows of one experiment, indexed by method."""

    def __init__(self, rows: Iterable[TrialRow]) -> None:
        self.by_method: dict[Method, list[TrialRow]] = {}
        for row in rows:
            self.by_method.setdefault(row.method, []).append(row)
        self.points = sorted({row.point for some in self.by_method.values() for row in some})

    def within(self, low: float, high: float) -> RowSet:
        """Rows at points from `low` to `high`, both included."""
        return RowSet(row for some in self.by_method.values() for row in some if _inside(row, low, high))

    def select(self, method: Method, low: float = 0.0, high: float = math.inf) -> list[TrialRow]:
        """The rows of a method at points from `low` to `high`, both included."""
        return [row for row in self.by_method.get(method, ()) if _inside(row, low, high)]


def _inside(row: TrialRow, low: float, high: float) -> bool:
    return low - 1e-9 <= row.point <= high + 1e-9


def mean_slowdown(row: TrialRow) -> float:
    """The user's metric."""
    return row.mean_io_slowdown


def idle_time(row: TrialRow) -> float:
    """The administrator's metric."""
    return row.machine_idle_time


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % confidence interval, over `sets` sets."""

    mean: float
    low: float
    high: float
    sets: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def interval(values: Sequence[float]) -> Interval:
    """The mean and a normal 95 % interval; with one value the interval is unbounded."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return Interval(mean, -math.inf, math.inf, count)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    half = 1.96 * deviation / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, count)


def compare(rows: RowSet, first: Method, second: Method, metric: Metric) -> Interval:
    """The geometric mean, over sets, of first / second: below 1, `first` is lower. Sets are paired."""
    other = {(row.point, row.index): metric(row) for row in rows.select(second)}
    logs = []
    for row in rows.select(first):
        if other.get((row.point, row.index), 0.0) > 0 and metric(row) > 0:
            logs.append(math.log(metric(row) / other[row.point, row.index]))
    ratio = interval(logs)
    return Interval(math.exp(ratio.mean), math.exp(ratio.low), math.exp(min(ratio.high, 700.0)), ratio.sets)


def percentile(values: Sequence[float], share: float) -> float:
    """Linear between order statistics.

    >>> percentile([4.0, 1.0, 2.0, 3.0], 0.5)
    2.5
    """
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
