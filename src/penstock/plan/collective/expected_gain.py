"""What a candidate may be expected to gain over no hints: the forecast, corrected by paired runs.

Noise on a busy machine is larger than most differences, so asking for proof of every gain leaves gains behind, and
taking the fastest of several noisy medians picks the luckiest. Both are avoided by weighing: the forecast says what
to expect before the first run and how uncertain that is, and runs move it as far as their own scatter allows.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.plan.collective.confirm import HintTrial, paired_ratios

# How far gains typically lie from none at all, as a standard deviation of logarithms: 1.2 times or its inverse.
TYPICAL_GAIN = 0.2
# The share of pairs at either end that is moved to the last one kept: a stall of one run is not its hints'.
TAIL_SHARE = 0.1
# Runs never agree better than this, whatever a few of them say.
LEAST_SCATTER = 0.01
# Advice against no hints needs so much expected gain, and so much certainty that there is any.
LEAST_EXPECTED = 1.02
LEAST_CERTAINTY = 0.9
# A gain within this factor of the best is as good, and the simpler candidate is taken.
ALIKE = 1.03


@dataclass(frozen=True, slots=True)
class ExpectedGain:
    """The gain to expect (above 1 is faster than no hints) and how certain it is that there is one at all."""

    ratio: float
    certainty: float

    @property
    def advisable(self) -> bool:
        """Whether it is worth setting hints for."""
        return self.ratio > LEAST_EXPECTED and self.certainty >= LEAST_CERTAINTY


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a forecast expects of a candidate before any run: a logarithm of its gain, and its standard deviation."""

    log_gain: float = 0.0
    deviation: float = TYPICAL_GAIN


def expected_gain(trial: HintTrial, none: HintTrial, foreseen: Foreseen) -> ExpectedGain:
    """The forecast and the paired runs, each weighed by its certainty."""
    logs = shortened([math.log(ratio) for ratio in paired_ratios(trial, none)])
    scatter = max(statistics.stdev(logs), LEAST_SCATTER) if len(logs) > 1 else TYPICAL_GAIN
    # Moving outermost values inwards makes the scatter look smaller; few pairs are less certain than they look.
    error = scatter / (1 - 2 * TAIL_SHARE) / math.sqrt(len(logs)) * (1 + 2 / len(logs))
    trust = foreseen.deviation**2 / (foreseen.deviation**2 + error**2)
    mean = trust * statistics.fmean(logs) + (1 - trust) * foreseen.log_gain
    deviation = math.sqrt(trust) * error
    return ExpectedGain(math.exp(mean), statistics.NormalDist().cdf(mean / deviation))


def shortened(values: Sequence[float]) -> list[float]:
    """The values in order, the outermost tenth at each end moved to the nearest one kept.

    >>> shortened([9.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 800.0])
    [1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0, 9.0]
    """
    ordered = sorted(values)
    cut = math.ceil(TAIL_SHARE * len(ordered)) if len(ordered) >= 5 else 0
    if not cut:
        return ordered
    kept = ordered[cut:-cut]
    return [kept[0]] * cut + kept + [kept[-1]] * cut
