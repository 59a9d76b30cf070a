"""Chooses a count for an uncertain curve: the best on average, how certain that is, and the value of measuring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.schedule.belief import RUN_SPREAD, CurveBelief, Measurement

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

DRAWS = 400
SEED = 28
NEAR = 0.05
"""A count is as good as the best one if it loses at most this share more."""
DENSE = 16
PER_DOUBLING = 8
"""Uncertain curves are compared on every count up to `DENSE`, and on so many for each further doubling."""
QUADRATURE = ((-1.7320508, 1 / 6), (0.0, 2 / 3), (1.7320508, 1 / 6))
"""Three outcomes of a measurement, in standard deviations, and their weights (Gauss-Hermite)."""


@dataclass(frozen=True, slots=True)
class Stakes:
    """What the idle nodes depend on besides the curve.

    For each of `counts`: the other users, and the others' loss.
    """

    compute_nodes: int
    compute_s: float
    io_bytes: float
    counts: tuple[int, ...]
    crowd: tuple[float, ...]
    others: tuple[float, ...]

    def idle_nodes(self, curves: Floats) -> Floats:
        """Idle nodes of the machine: one row per curve, one column per count."""
        import numpy as np

        alone_s = self.io_bytes / curves
        crowded_s = alone_s * (1 + np.array(self.crowd))
        own = self.compute_nodes * crowded_s / (self.compute_s + crowded_s)
        idle: Floats = own + np.array(self.others) * alone_s / (self.compute_s + alone_s)
        return idle


@dataclass(frozen=True, slots=True)
class Certainty:
    """How certain a choice is, and the next measurement with the largest expected gain, in idle nodes.

    `measuring_gains` is None if the job's volume or compute time is unknown, because idle nodes cannot be computed
    then.
    """

    count: int
    sure: float
    spread: float
    measure_on: int
    measuring_gains: float | None


def told_apart(allowed: Sequence[int]) -> list[int]:
    """The counts among `allowed` that are worth comparing: an uncertain curve says nothing about closer ones.

    >>> told_apart(range(1, 40))[12:]
    [13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30, 32, 36]
    """
    apart = {
        step * 2**power // PER_DOUBLING
        for power in range(64)
        for step in range(PER_DOUBLING, 2 * PER_DOUBLING)
    }
    return [count for count in allowed if count <= DENSE or count in apart] or list(allowed)


def choose(belief: CurveBelief, stakes: Stakes, most: int) -> Certainty:
    """The count with the fewest idle nodes, averaged over the possible curves; on a tie the fastest.

    It can be measured on up to `most`.
    """
    import numpy as np

    normals = np.random.default_rng(SEED).standard_normal((DRAWS, len(belief.counts)))
    curves = belief.samples(normals, stakes.counts)
    idle = stakes.idle_nodes(curves)
    average = idle.mean(axis=0)
    slowness = (1 + np.array(stakes.crowd)) / np.median(curves, axis=0)
    best = int(np.lexsort((slowness, average))[0])
    sure = float((idle[:, best] <= (1 + NEAR) * idle.min(axis=1)).mean())
    gains = {}
    for count in belief.counts:
        if count <= most:
            gains[count] = max(float(average[best]) - _after(belief, stakes, count, normals), 0.0)
    measure_on = max(gains, key=lambda count: gains[count])
    chosen = stakes.counts[best]
    return Certainty(chosen, sure, belief.spread(chosen), measure_on, gains[measure_on])


def fastest(belief: CurveBelief, most: int) -> Certainty:
    """The count up to `most` with the highest median bandwidth, for a job of which only the class is known."""
    import numpy as np

    normals = np.random.default_rng(SEED).standard_normal((DRAWS, len(belief.counts)))
    width = min(most, belief.counts[-1])
    curves = belief.samples(normals, range(1, width + 1))
    best = int(np.argmax(np.median(curves, axis=0)))
    sure = float(((1 + NEAR) * curves[:, best] >= curves.max(axis=1)).mean())
    return Certainty(best + 1, sure, belief.spread(best + 1), best + 1, None)


def _after(belief: CurveBelief, stakes: Stakes, count: int, normals: Floats) -> float:
    """The expected idle nodes if `count` is measured first and the choice made afterwards."""
    import numpy as np

    mean = float(np.array(belief.weights(count)) @ np.array(belief.mean))
    scale = math.hypot(belief.spread(count), RUN_SPREAD)
    expected = 0.0
    for deviation, weight in QUADRATURE:
        learnt = belief.learn(Measurement(count, math.exp(mean + deviation * scale)))
        idle = stakes.idle_nodes(learnt.samples(normals, stakes.counts))
        expected += weight * float(idle.mean(axis=0).min())
    return expected
