"""CARAT's Algorithm 1 ("conditional score greedy"), as printed and as in its authors' code.

Both versions keep the candidates whose probability is above tau. They rank them by probability and by knob value,
because among candidates that are likely to help, larger values tend to stay good for longer. Scores are arrays,
because this code runs for every busy target in every interval.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    """The candidates above the threshold, with their index, probability, request size and requests in flight."""

    candidates: Candidates
    places: NDArray[np.intp]
    p: Floats
    size: Floats
    count: Floats

    def __len__(self) -> int:
        return len(self.p)

    def setting(self, at: int) -> Setting:
        """The setting of the survivor at this index."""
        return self.candidates[int(self.places[at])]


def survivors(outlook: Outlook, tau: float = TAU) -> Survivors:
    """The candidates with a probability above `tau`, in their original order."""
    p = np.asarray(outlook.probabilities, dtype=np.float64)
    kept = (p > tau).nonzero()[0]
    size, count = (outlook.candidates.column(role) for role in (Role.REQUEST_SIZE, Role.IN_FLIGHT))
    return Survivors(outlook.candidates, kept, p[kept], size[kept], count[kept])


def min_max(values: Floats) -> Floats:
    """Values scaled to 0..1. If all are equal, each becomes 1.

    >>> min_max(np.array([1.0, 2.0, 5.0])).tolist(), min_max(np.array([7.0])).tolist()
    ([0.0, 0.25, 1.0], [1.0])
    """
    low, high = np.minimum.reduce(values), np.maximum.reduce(values)
    return (values - low) / (high - low) if high > low else np.ones_like(values)


def printed(kept: Survivors, direction: str) -> Floats:
    """The score as printed in the paper: knob values are scaled to 0..1 among the survivors."""
    size, count = min_max(kept.size), min_max(kept.count)
    if direction == "write":
        return kept.p * (1 + BETA * (size + count))
    return kept.p * (1 + ALPHA * size) + count


def authors(kept: Survivors, direction: str, space: KnobSpace, *, updating: bool) -> Floats:
    """The score of the authors' code: logarithms of knob values scaled over the whole space, probabilities over
    survivors.

    With `updating` (most writes only update the cache) fewer requests in flight score higher, because many do harm
    then.
    """
    p = min_max(kept.p)
    size = _log_share(space, Role.REQUEST_SIZE, kept.size)
    count = _log_share(space, Role.IN_FLIGHT, kept.count)
    if direction == "read":
        return p + size + count
    return p + (1 - count) if updating else p * (1 + size + count)


def best(scores: Floats) -> int:
    """The index of the highest score. On a tie the first one wins, so that a replayed log gives the same decision."""
    return int(np.argmax(scores))


def _log_share(space: KnobSpace, role: Role, values: Floats) -> Floats:
    knob = space.of_role(role)
    known = knob.values if knob is not None else (1,)
    span = np.log2(known[-1] / known[0])
    return np.log2(values / known[0]) / span if span else np.ones_like(values)
