"""What tuning brought in cases that look like some work: a weighted sample of gains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.predict.tuned_cases import TunedCase

Floats = NDArray[np.float64]

# Of two cases that differ by so many doublings in requests in flight, bytes and seconds of a request, one counts .6
# times as much for the other; a figure that one of them lacks counts as that much.
WIDTHS_LOG2 = (1.0, 1.5, 2.0)
_UNKNOWN = (math.nan,) * len(WIDTHS_LOG2)
# What a case counts that is like the work in nothing but its direction.
UNLIKE = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class LikeCases:
    """The gains of cases as base-2 logarithms, and how much each counts; the weights add up to one."""

    gains_log2: Floats
    weights: Floats

    @property
    def mean_log2(self) -> float:
        return float(self.weights @ self.gains_log2)

    @property
    def count(self) -> float:
        """How many cases of equal weight would say as much."""
        return 1.0 / float((self.weights**2).sum())

    @property
    def error_log2(self) -> float:
        """The standard error of the mean."""
        spread = float(self.weights @ (self.gains_log2 - self.mean_log2) ** 2)
        return math.sqrt(max(spread, 0.0) / max(self.count - 1.0, 0.2))

    def chance(self, least_log2: float) -> float:
        """The part of the cases that gained at least this."""
        return float(self.weights[self.gains_log2 >= least_log2].sum())

    def quantile_log2(self, part: float) -> float:
        """What this part of the cases gained at most."""
        order = np.argsort(self.gains_log2)
        at = int(np.searchsorted(np.cumsum(self.weights[order]), part))
        return float(self.gains_log2[order][min(at, len(order) - 1)])

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """The gains of so many cases, drawn at random."""
        return rng.choice(self.gains_log2, size=count, p=self.weights)


def like_cases(work: str, look: Sequence[float], cases: Sequence[TunedCase]) -> LikeCases | None:
    """How much each case of the same direction counts for work that looks so; None where there is none."""
    same = [case for case in cases if case.work == work]
    if not same:
        return None
    here, rows = _row(look), np.array([_row(case.look) for case in same])
    apart = np.abs(rows - here) / np.array(WIDTHS_LOG2)
    apart = np.where(np.isnan(rows) & np.isnan(here), 0.0, np.nan_to_num(apart, nan=1.0))
    alike = np.exp(-0.5 * (apart**2).sum(axis=1)) + UNLIKE
    weights = alike * np.array([case.weight for case in same])
    return LikeCases(np.array([case.gain_log2 for case in same]), weights / weights.sum())


def _row(look: Sequence[float]) -> Floats:
    return np.array(tuple(look) if len(look) == len(_UNKNOWN) else _UNKNOWN)
