"""Means, intervals and paired comparisons over rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from penstock.schedule.study.trial import Method, Row

Metric = Callable[[Row], float]


def mean_slowdown(row: Row) -> float:
    """The user's metric."""
    return row.mean_io_slowdown


def idle_time(row: Row) -> float:
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


def select(rows: Iterable[Row], method: Method, low: float = 0.0, high: float = math.inf) -> list[Row]:
    """The rows of a method at points from `low` to `high`, both included."""
    return [row for row in rows if row.method == method and low - 1e-9 <= row.point <= high + 1e-9]


def compare(rows: Sequence[Row], first: Method, second: Method, metric: Metric) -> Interval:
    """The geometric mean, over sets, of first / second: below 1, `first` is lower. Sets are paired."""
    other = {(row.point, row.index): metric(row) for row in rows if row.method == second}
    logs = []
    for row in rows:
        if row.method == first and other.get((row.point, row.index), 0.0) > 0 and metric(row) > 0:
            logs.append(math.log(metric(row) / other[row.point, row.index]))
    ratio = interval(logs)
    return Interval(math.exp(ratio.mean), math.exp(ratio.low), math.exp(ratio.high), ratio.sets)


def within(rows: Iterable[Row], low: float, high: float) -> list[Row]:
    """Rows at points from `low` to `high`, both included."""
    return [row for row in rows if low - 1e-9 <= row.point <= high + 1e-9]


def percentile(values: Sequence[float], share: float) -> float:
    """Linear between order statistics."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
