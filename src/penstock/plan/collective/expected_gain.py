"""The expected gain of a candidate over no hints: the forecast, corrected by paired runs.

On a busy machine the noise exceeds most differences. Demanding proof of every gain misses real gains; taking the
fastest of several noisy medians picks the luckiest. So both sources are weighted: the forecast says what to expect
before the first run and how uncertain that is, and the runs move this estimate as far as their own scatter allows.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.plan.collective.confirm import HintTrial, launch_ratios

# The typical distance of gains from 1, as a standard deviation of logarithms: a factor of 1.2.
TYPICAL_GAIN = 0.2
# The share of pairs at either end that is replaced by the nearest value kept, because a single stall is not caused by
# hints.
TAIL_SHARE = 0.1
# The smallest standard deviation that runs are given.
LEAST_SCATTER = 0.01
# Hints are advised only with at least this expected gain, and with this probability of any gain. In simulated races
# of four candidates with few noisy runs 0.9 missed more than half of the possible gain, and 0.75 advised a candidate
# that is a tenth slower in 9 of 100 races, 0.85 in 4.
LEAST_EXPECTED = 1.02
LEAST_CERTAINTY = 0.85
# The fixed rule needs less certainty, because it has paid before (`RULE_BEFORE`).
LIKELY = 0.7
# A gain within this factor of the best is as good. The simpler candidate is then chosen.
ALIKE = 1.03


@dataclass(frozen=True, slots=True)
class ExpectedGain:
    """The expected gain (above 1 is faster than no hints), and the probability that there is a gain."""

    ratio: float
    certainty: float

    @property
    def advisable(self) -> bool:
        """Whether it is worth setting hints for."""
        return self.ratio > LEAST_EXPECTED and self.certainty >= LEAST_CERTAINTY

    @property
    def likely(self) -> bool:
        """Whether it is worth setting hints for that have paid elsewhere."""
        return self.ratio > LEAST_EXPECTED and self.certainty >= LIKELY


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The forecast for a candidate before any run: the logarithm of its gain and its standard deviation."""

    log_gain: float = 0.0
    deviation: float = TYPICAL_GAIN


# The fixed rule in fourteen earlier instances (docs/explanation/collective.md): 1.17 times no hints in the
# geometric mean, 0.92 at worst, a scatter of a factor 1.2. An outside measurement under load had 0.96, so a little
# less is expected.
RULE_BEFORE = Foreseen(0.1, 0.2)


def expected_gain(trial: HintTrial, none: HintTrial, foreseen: Foreseen) -> ExpectedGain:
    """Combine the forecast and the paired runs, weighted by their certainty."""
    logs = shortened([math.log(ratio) for ratio in launch_ratios(trial, none)])
    scatter = max(statistics.stdev(logs), LEAST_SCATTER) if len(logs) > 1 else TYPICAL_GAIN
    # Replacing the outermost values reduces the scatter, so a few pairs look more certain than they are.
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
