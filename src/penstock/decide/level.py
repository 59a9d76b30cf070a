"""Throughput at one setting: a mean over recent windows, with its standard error."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from penstock.decide.habits import MEAN_WINDOWS, UNKNOWN_NOISE, WAVES
from penstock.decide.objective import Rates


@dataclass(slots=True)
class Level:
    """An exponential mean of the rates in recent windows, and how much single windows deviate from it."""

    count: int = 0
    mean: Rates = field(default_factory=lambda: Rates(0.0, 0.0))
    variance: float = 0.0

    def take(self, rates: Rates) -> None:
        """Add a window. Older windows lose weight."""
        self.count += 1
        part = 1.0 / min(self.count, MEAN_WINDOWS)
        old, new = self.mean, rates
        off = new.total - old.total
        self.mean = Rates(
            old.read + part * (new.read - old.read),
            old.write + part * (new.write - old.write),
            old.read_flight + part * (new.read_flight - old.read_flight),
            old.write_flight + part * (new.write_flight - old.write_flight),
            old.others + part * (new.others - old.others),
            old.others_busy + part * (new.others_busy - old.others_busy),
        )
        self.variance += part * (off * (new.total - self.mean.total) - self.variance)

    @property
    def noise(self) -> float:
        """The standard deviation of single windows, as a share of the mean."""
        if self.count < 3 or self.mean.total <= 0:
            return UNKNOWN_NOISE
        return min(math.sqrt(max(self.variance, 0.0)) / self.mean.total, 1.0)

    @property
    def error(self) -> float:
        """The standard error of the mean, as a share of the mean."""
        return WAVES * self.noise / math.sqrt(max(min(self.count, MEAN_WINDOWS), 1))
