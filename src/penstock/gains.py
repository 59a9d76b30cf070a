"""A gain is known with its interval or not at all: gain, loss, no difference, or undecided."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

# Two-sided 95 % of the normal distribution.
_CERTAIN = 1.96
# With such a relative error nothing is known.
_HOPELESS = 100.0
# An interval within these shows that there is no difference worth speaking of.
_SAME_LOW, _SAME_HIGH = 0.97, 1.03


class GainVerdict(StrEnum):
    """What an interval shows."""

    GAIN = "gain"
    LOSS = "loss"
    NO_DIFFERENCE = "no difference"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Gain:
    """Throughput over that of the original, or with tuning over without; its 95 % interval where that is known."""

    ratio: float
    low: float | None = None
    high: float | None = None

    @property
    def verdict(self) -> GainVerdict:
        """What the whole interval supports, and nothing beyond it.

        >>> [str(Gain(*gain).verdict) for gain in ((1.2, 1.1, 1.3), (1.2, 0.4, 3.9), (1.0, 0.98, 1.02))]
        ['gain', 'undecided', 'no difference']
        """
        if self.low is None or self.high is None:
            return GainVerdict.UNDECIDED
        if self.low > 1.0 or self.high < 1.0:
            return GainVerdict.GAIN if self.low > 1.0 else GainVerdict.LOSS
        same = self.low >= _SAME_LOW and self.high <= _SAME_HIGH
        return GainVerdict.NO_DIFFERENCE if same else GainVerdict.UNDECIDED

    @property
    def words(self) -> str:
        """The ratio where it is known, else the interval it lies in.

        >>> Gain(1.2, 1.1, 1.3).words, Gain(1.0, 0.41, 2.42).words, Gain(1.0).words
        ('1.20 times', 'between 0.41 and 2.42 times', 'an unknown part')
        """
        if self.low is None or self.high is None:
            return "an unknown part"
        if self.verdict is GainVerdict.UNDECIDED:
            return f"between {self.low:.2f} and {self.high:.2f} times"
        return f"{self.ratio:.2f} times"

    @property
    def with_interval(self) -> str:
        """The ratio and its interval, for tables.

        >>> Gain(1.2, 1.1, 1.3).with_interval, Gain(1.0).with_interval
        ('1.20 (1.10 to 1.30) times', 'an unknown part')
        """
        if self.low is None or self.high is None:
            return self.words
        return f"{self.ratio:.2f} ({self.low:.2f} to {self.high:.2f}) times"


def from_log2(gain_log2: float) -> float:
    """The ratio that a base-2 logarithm stands for. What nobody can mean is cut, so that a log cannot break a reader.

    >>> from_log2(1.0), from_log2(1e308) == from_log2(60.0)
    (2.0, True)
    """
    return float(2.0 ** min(max(gain_log2, -60.0), 60.0))


def measured(ratio: float, error: float | None) -> Gain:
    """A gain from its relative standard error; without one its interval is not known."""
    if error is None or not 0 <= error < _HOPELESS or ratio <= 0:
        return Gain(ratio)
    return Gain(ratio, ratio * math.exp(-_CERTAIN * error), ratio * math.exp(_CERTAIN * error))


def mean_gain(gains: Sequence[Gain]) -> Gain | None:
    """The geometric mean of several gains; None when there is none.

    Its interval is the wider of two: what the gains' own intervals leave open, and what their spread shows.
    """
    known = [gain for gain in gains if gain.ratio > 0]
    if not known:
        return None
    logs = [math.log(gain.ratio) for gain in known]
    mean, halves = statistics.fmean(logs), [_half(gain) for gain in known]
    widths = [half for half in halves if half is not None]
    if len(widths) < len(known):
        return Gain(math.exp(mean))
    own = math.sqrt(sum(half**2 for half in widths)) / len(known)
    spread = _CERTAIN * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else 0.0
    half = max(own, spread)
    return Gain(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def _half(gain: Gain) -> float | None:
    """Half the width of an interval, as a logarithm."""
    if gain.low is None or gain.high is None or gain.low <= 0:
        return None
    return math.log(gain.high / gain.low) / 2
