"""Ratios to the default over seeds, with the 95 % interval that decides what may be claimed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.evaluate.figures import mean

# Data is rewritten in memory if applications get this many times what the wire carries (filling the cache once
# explains less within a minute), or if their ratio to the default is this many times the wire's.
ABSORBED, REWRITTEN = 1.4, 1.2


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio over a number of seeds with its 95 % interval. A single seed has no interval."""

    value: float
    low: float | None
    high: float | None
    seeds: int

    @property
    def gains(self) -> bool:
        """Whether a gain is significant: the whole interval is above 1."""
        return self.low is not None and self.low > 1.0

    @property
    def loses(self) -> bool:
        """Whether a loss is significant: the whole interval is below 1."""
        return self.high is not None and self.high < 1.0

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.2f} (1 seed)"
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def over_seeds(values: Sequence[float]) -> Ratio:
    """The geometric mean of ratios, one a seed, and its interval.

    >>> str(over_seeds([2.0, 2.0, 2.0])), str(over_seeds([1.5]))
    ('2.00 [2.00, 2.00]', '1.50 (1 seed)')
    """
    logs = mean([math.log(max(value, 1e-9)) for value in values])
    if logs.ci95 is None:
        return Ratio(math.exp(logs.value), None, None, 1)
    low, high = (math.exp(logs.value + sign * logs.ci95) for sign in (-1, 1))
    return Ratio(math.exp(logs.value), low, high, len(values))
