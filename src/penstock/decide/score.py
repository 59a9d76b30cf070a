"""Conditional score greedy: CARAT's Algorithm 1, as printed and as its authors' own code has it.

Both keep the candidates the model is sure about (probability above tau) and rank them by probability and by
how far they go, because among safe candidates the larger ones tend to stay good. Scores are arrays beside the
candidates: this runs for every busy target at every interval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from penstock.decision import Outlook
from penstock.knobs import Candidates, KnobSpace, Role, Setting

TAU = 0.8
ALPHA = 0.5
BETA = 0.5

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Survivors:
    """The candidates above the threshold: their places, probabilities, request sizes and requests in flight."""

    candidates: Candidates
    places: NDArray[np.intp]
    p: Floats
    size: Floats
    count: Floats

    def __len__(self) -> int:
        return len(self.p)

    def setting(self, at: int) -> Setting:
        """The survivor at a place among the scores."""
        return self.candidates[int(self.places[at])]


def survivors(outlook: Outlook, tau: float = TAU) -> Survivors:
    """The candidates the model is sure about, in the order they were given."""
    p = np.asarray(outlook.probabilities, dtype=np.float64)
    kept = (p > tau).nonzero()[0]
    size, count = (outlook.candidates.column(role) for role in (Role.REQUEST_SIZE, Role.IN_FLIGHT))
    return Survivors(outlook.candidates, kept, p[kept], size[kept], count[kept])


def min_max(values: Floats) -> Floats:
    """Values stretched to 0..1; where all are equal there is no order to keep, and each is 1.

    >>> min_max(np.array([1.0, 2.0, 5.0])).tolist(), min_max(np.array([7.0])).tolist()
    ([0.0, 0.25, 1.0], [1.0])
    """
    low, high = np.minimum.reduce(values), np.maximum.reduce(values)
    return (values - low) / (high - low) if high > low else np.ones_like(values)


def printed(kept: Survivors, direction: str) -> Floats:
    """The score as the paper prints it: knob values min-max normalised inside the set of survivors."""
    size, count = min_max(kept.size), min_max(kept.count)
    if direction == "write":
        return kept.p * (1 + BETA * (size + count))
    return kept.p * (1 + ALPHA * size) + count


def by_logarithm(kept: Survivors) -> Survivors:
    """The same survivors with their knobs as base-2 logarithms: the knobs' steps are powers of two."""
    return replace(kept, size=np.log2(np.maximum(kept.size, 1.0)), count=np.log2(np.maximum(kept.count, 1.0)))


def authors(kept: Survivors, direction: str, space: KnobSpace, *, updating: bool) -> Floats:
    """The score of the authors' code: knobs by their logarithm over the whole space, probabilities min-max.

    While most of what is written only updates the cache, many requests in flight do harm: few are preferred.
    """
    p = min_max(kept.p)
    size = _log_share(space, Role.REQUEST_SIZE, kept.size)
    count = _log_share(space, Role.IN_FLIGHT, kept.count)
    if direction == "read":
        return p + size + count
    return p + (1 - count) if updating else p * (1 + size + count)


def best(scores: Floats) -> int:
    """Where the highest score is; among equals the first candidate, so that a log replays alike."""
    return int(np.argmax(scores))


def _log_share(space: KnobSpace, role: Role, values: Floats) -> Floats:
    knob = space.of_role(role)
    known = knob.values if knob is not None else (1,)
    span = np.log2(known[-1] / known[0])
    return np.log2(values / known[0]) / span if span else np.ones_like(values)
