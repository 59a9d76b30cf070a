"""The statistics that every experiment reports."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Two-sided 95 % quantiles of Student's t for 1, 2, 3 ... degrees of freedom.
_T95 = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
)
_T95_MANY = 1.96
#: There is room where the best setting brings this many times the default.
HEADROOM = 1.2


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over seeds and the half-width of its 95 % confidence interval (None for a single seed)."""

    value: float
    ci95: float | None


def mean(values: Sequence[float]) -> Mean:
    """Over equally trusted measurements.

    >>> mean([10.0, 12.0]).value, round(mean([10.0, 12.0]).ci95, 2), mean([3.0]).ci95
    (11.0, 12.71, None)
    """
    if len(values) < 2:
        return Mean(values[0], None)
    freedom = len(values) - 1
    quantile = _T95[freedom - 1] if freedom <= len(_T95) else _T95_MANY
    return Mean(statistics.fmean(values), quantile * statistics.stdev(values) / math.sqrt(len(values)))


def geomean(values: Iterable[float]) -> float:
    """The geometric mean; zero where anything is.

    >>> round(geomean([1.0, 4.0]), 6)
    2.0
    """
    found = list(values)
    if not found or min(found) <= 0:
        return 0.0
    return math.exp(statistics.fmean(math.log(value) for value in found))


def jain(values: Sequence[float]) -> float:
    """Jain's fairness index: 1 when all get the same, 1/n when one gets everything.

    >>> jain([2.0, 2.0]), jain([1.0, 0.0])
    (1.0, 0.5)
    """
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def headroom_captured(rows: Iterable[tuple[float, float, float]], least: float = HEADROOM) -> float | None:
    """The mean of (policy - default) / (best - default) over (default, best, policy) where there is room.

    Room is where the best is at least `least` times the default; without any such row there is no answer.
    """
    shares = [(policy - base) / (best - base) for base, best, policy in rows if best >= least * base]
    return statistics.fmean(shares) if shares else None


def headroom_log(rows: Iterable[tuple[float, float]]) -> float | None:
    """The mean of log(policy) / log(best) over (best, policy), ratios to the default, where there is room.

    >>> headroom_log([(4.0, 2.0), (1.1, 5.0)]), headroom_log([(1.1, 1.1)])
    (0.5, None)
    """
    shares = [math.log(max(policy, 1e-9)) / math.log(best) for best, policy in rows if best >= HEADROOM]
    return statistics.fmean(shares) if shares else None
