"""Decides when the mean of repeated runs is precise enough: the paper's rule with a correction.

The printed rule divides by the root of n - 1 with n as the number of cores. It must be the number of runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, pstdev

from penstock.errors import UsageError


@dataclass(frozen=True, slots=True)
class ConvergenceRule:
    """Stop when the mean is known to within `error` of itself with `confidence`, or after `max_runs`.

    The paper gives neither figure; 95 % and 10 % are ours. Two or three lucky runs must not pass for
    convergence, hence `min_runs`.
    """

    confidence: float = 0.95
    error: float = 0.10
    min_runs: int = 3
    max_runs: int = 20

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise UsageError(f"--confidence {self.confidence:g} is not between 0 and 1")
        if not 0 < self.error < 1:
            raise UsageError(f"--error {self.error:g} is not between 0 and 1")
        if self.min_runs < 2:
            raise UsageError(
                f"at least {self.min_runs} runs: one run alone does not tell how much runs differ"
            )
        if self.max_runs < self.min_runs:
            raise UsageError(f"--max-runs {self.max_runs}: a pattern takes at least {self.min_runs} runs")

    def half_width(self, times_s: Sequence[float]) -> float:
        """Half the confidence interval of the mean, as a share of the mean.

        >>> round(ConvergenceRule().half_width([10.0, 11.0, 9.0]), 4)
        0.1132
        """
        if len(times_s) < 2:
            return math.inf
        z = NormalDist().inv_cdf(1 - (1 - self.confidence) / 2)
        return z * pstdev(times_s) / math.sqrt(len(times_s) - 1) / fmean(times_s)

    def converged(self, times_s: Sequence[float]) -> bool:
        """Whether these runs are enough."""
        return len(times_s) >= self.min_runs and self.half_width(times_s) <= self.error


@dataclass(frozen=True, slots=True)
class RepeatedWrite:
    """The mean of identical runs, and whether it can be trusted."""

    times_s: tuple[float, ...]
    converged: bool

    @property
    def mean_s(self) -> float:
        """The mean time, which is the sample used for fitting."""
        return fmean(self.times_s)


def draw(run: Callable[[], float], rule: ConvergenceRule) -> RepeatedWrite:
    """Run until the rule is satisfied or the maximum number of runs is reached."""
    times: list[float] = []
    while len(times) < rule.max_runs and not rule.converged(times):
        times.append(run())
    return RepeatedWrite(tuple(times), rule.converged(times))
