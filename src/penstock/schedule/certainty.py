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
QUADRATURE = ((-1.7320508, 1 / 6), (0.0, 2 / 3), (1.7320508, 1 / 6))
"""Three outcomes of a measurement, in standard deviations, and their weights (Gauss-Hermite)."""


@dataclass(frozen=True, slots=True)
class Stakes:
    """What the idle nodes depend on besides the curve.

    For each count 1, 2, ...: the other users, and the others' loss.
    """

    compute_nodes: int
    compute_s: float
    io_bytes: float
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


def choose(belief: CurveBelief, stakes: Stakes, allowed: Sequence[int]) -> Certainty:
    """The count among `allowed` with the fewest idle nodes, averaged over the possible curves."""
    import numpy as np

    normals = np.random.default_rng(SEED).standard_normal((DRAWS, len(belief.counts)))
    columns = np.array(allowed) - 1
    idle = stakes.idle_nodes(belief.samples(normals, len(stakes.crowd)))[:, columns]
    average = idle.mean(axis=0)
    best = int(np.argmin(average))
    sure = float((idle[:, best] <= (1 + NEAR) * idle.min(axis=1)).mean())
    gains = {}
    for count in belief.counts:
        if count <= len(stakes.crowd):
            later = _after(belief, stakes, count, (normals, columns))
            gains[count] = max(float(average[best]) - later, 0.0)
    measure_on = max(gains, key=lambda count: gains[count])
    chosen = int(allowed[best])
    return Certainty(chosen, sure, belief.spread(chosen), measure_on, gains[measure_on])


def fastest(belief: CurveBelief, most: int) -> Certainty:
    """The count up to `most` with the highest median bandwidth, for a job of which only the class is known."""
    import numpy as np

    normals = np.random.default_rng(SEED).standard_normal((DRAWS, len(belief.counts)))
    width = min(most, belief.counts[-1])
    curves = belief.samples(normals, width)
    best = int(np.argmax(np.median(curves, axis=0)))
    sure = float(((1 + NEAR) * curves[:, best] >= curves.max(axis=1)).mean())
    return Certainty(best + 1, sure, belief.spread(best + 1), best + 1, None)


def _after(
    belief: CurveBelief, stakes: Stakes, count: int, drawn: tuple[Floats, npt.NDArray[np.int64]]
) -> float:
    """The expected idle nodes if `count` is measured first and the choice made afterwards."""
    import numpy as np

    normals, columns = drawn
    mean = float(np.array(belief.weights(count)) @ np.array(belief.mean))
    scale = math.hypot(belief.spread(count), RUN_SPREAD)
    expected = 0.0
    for deviation, weight in QUADRATURE:
        learnt = belief.learn(Measurement(count, math.exp(mean + deviation * scale)))
        idle = stakes.idle_nodes(learnt.samples(normals, len(stakes.crowd)))[:, columns]
        expected += weight * float(idle.mean(axis=0).min())
    return expected
