"""The estimate of a curve that was not fully measured: a prior for its class, corrected by measurements.

The estimate is a normal distribution over the logarithm of the bandwidth at 1, 2, 4, ... resources. From one doubling
to the next the logarithm changes by the mean step of the class, with a given spread. Measurements at any count narrow
it down. Counts between two doublings are interpolated in the logarithm.

The steps up to 8 are means over the 189 MareNostrum 4 curves of J. L. Bez et al. (Zenodo 10.5281/zenodo.4016899), by
layout: 63 curves with a file per process, 126 with a shared file. Their own spread is 0.1 to 0.2 per step. The spread
here is larger because systems differ: the shared-file writes of OPRAEL's IOR runs on Lustre rise by 0.3 to 0.5 per
step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import DataError
from penstock.schedule.application import Curve

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

RUN_SPREAD = 0.2
"""Spread of the logarithm between repetitions of one IOR run: the median over OPRAEL's runs is 0.20."""
PAST_SPREAD = 0.4
"""The same for a past run of the application among others, of which a log tells one average."""
LEVEL_SPREAD = 3.0
"""How far the bandwidth on one resource may lie from a first guess: next to nothing is assumed of it."""
FADING = 0.5
"""Beyond the measured steps each further doubling gains this share of the one before."""


@dataclass(frozen=True, slots=True)
class AccessClass:
    """How bandwidth changes with each doubling of the resources: mean steps of its logarithm, and their spread."""

    steps: tuple[float, ...]
    spread: float


CLASSES = {
    "file-per-process": AccessClass((0.80, 0.71, 0.59), 0.35),
    "shared": AccessClass((0.27, -0.17, -0.10), 0.40),
    "unknown": AccessClass((0.45, 0.12, 0.13), 0.60),
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """A bandwidth measured on a number of resources, with the spread of its logarithm."""

    count: int
    bytes_per_s: float
    spread: float = RUN_SPREAD


@dataclass(frozen=True, slots=True)
class CurveBelief:
    """Mean and covariance of the logarithm of bandwidth at each of `counts`, and the number of measurements.

    Without any measurement only ratios between counts have a meaning.
    """

    counts: tuple[int, ...]
    mean: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    measured: int = 0

    def learn(self, seen: Measurement) -> CurveBelief:
        """The belief after one more measurement."""
        import numpy as np

        covariance = np.array(self.covariance)
        weights = np.array(self.weights(seen.count))
        along = covariance @ weights
        gain = along / (weights @ along + seen.spread**2)
        mean = np.array(self.mean) + gain * (math.log(seen.bytes_per_s) - weights @ np.array(self.mean))
        left = covariance - np.outer(gain, along)
        rounded = tuple(map(tuple, ((left + left.T) / 2).tolist()))
        return CurveBelief(self.counts, tuple(mean.tolist()), rounded, self.measured + 1)

    def weights(self, count: int) -> list[float]:
        """The interpolation weights that give the logarithm at `count` from those at `counts`."""
        weights = [0.0] * len(self.counts)
        place = math.log2(min(max(count, 1), self.counts[-1]))
        below = min(int(place), len(self.counts) - 1)
        weights[below] = 1 - (place - below) if below + 1 < len(self.counts) else 1.0
        if below + 1 < len(self.counts):
            weights[below + 1] = place - below
        return weights

    def spread(self, count: int) -> float:
        """Standard deviation of the logarithm of the bandwidth on `count` resources."""
        import numpy as np

        weights = np.array(self.weights(count))
        return float(np.sqrt(max(weights @ np.array(self.covariance) @ weights, 0.0)))

    def curve(self) -> Curve:
        """The median curve."""
        return Curve(self.counts, tuple(math.exp(value) for value in self.mean))

    def samples(self, normals: Floats, at: Sequence[int]) -> Floats:
        """Bandwidth curves drawn from the estimate, one row per draw, at the given counts.

        Equal normals give equal draws.
        """
        import numpy as np

        covariance = np.array(self.covariance)
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.clip(values, 0.0, None))
        drawn = np.array(self.mean) + normals[:, : len(self.counts)] @ root.T
        weights = np.array([self.weights(count) for count in at])
        curves: Floats = np.exp(drawn @ weights.T)
        return curves


def prior(access: str, largest: int) -> CurveBelief:
    """The estimate for a class before anything is measured, up to the largest power of two within `largest`."""
    import numpy as np

    about = CLASSES[access]
    doublings = max(int(math.log2(largest)), 0)
    steps = list(about.steps[:doublings])
    while len(steps) < doublings:
        steps.append(steps[-1] * FADING)
    mean = np.concatenate([[math.log(1e9)], math.log(1e9) + np.cumsum(steps)]) if steps else [math.log(1e9)]
    order = np.arange(doublings + 1)
    covariance = LEVEL_SPREAD**2 + about.spread**2 * np.minimum.outer(order, order)
    counts = tuple(2**power for power in range(doublings + 1))
    return CurveBelief(counts, tuple(map(float, mean)), tuple(map(tuple, covariance.tolist())))


def believe(access: str, largest: int, seen: Sequence[Measurement]) -> CurveBelief:
    """The prior of the class, corrected by all measurements."""
    belief = prior(access, largest)
    for one in seen:
        if not (math.isfinite(one.bytes_per_s) and one.bytes_per_s > 0):
            raise DataError(f"bandwidth on {one.count}: {one.bytes_per_s!r} is not a positive number")
        belief = belief.learn(one)
    return belief
