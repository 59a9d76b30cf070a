"""Conditional score greedy: CARAT's Algorithm 1, as printed and as its authors' own code has it.

Both keep the candidates the model is sure about (probability above tau) and rank them by probability and by
how far they go, because among safe candidates the larger ones tend to stay good.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from penstock.decision import Outlook
from penstock.knobs import KnobSpace, Setting

TAU = 0.8
ALPHA = 0.5
BETA = 0.5


def survivors(outlook: Outlook, tau: float = TAU) -> dict[Setting, float]:
    """The candidates above the threshold, with their probabilities."""
    pairs = zip(outlook.candidates, outlook.probabilities, strict=True)
    return {setting: probability for setting, probability in pairs if probability > tau}


def min_max(values: Sequence[float]) -> list[float]:
    """Values stretched to 0..1; where all are equal there is no order to keep, and each is 1.

    >>> min_max([1, 2, 5]), min_max([7])
    ([0.0, 0.25, 1.0], [1.0])
    """
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 1.0 for value in values]


def printed(kept: Mapping[Setting, float], direction: str) -> dict[Setting, float]:
    """The score as the paper prints it: knob values min-max normalised inside the set of survivors."""
    pages = min_max([setting["pages"] for setting in kept])
    flight = min_max([setting["flight"] for setting in kept])
    scores = {}
    for (setting, p), size, count in zip(kept.items(), pages, flight, strict=True):
        if direction == "write":
            scores[setting] = p * (1 + BETA * (size + count))
        else:
            scores[setting] = p * (1 + ALPHA * size) + count
    return scores


def authors(
    kept: Mapping[Setting, float], direction: str, space: KnobSpace, *, updating: bool
) -> dict[Setting, float]:
    """The score of the authors' code: knobs by their logarithm over the whole space, probabilities min-max.

    While most of what is written only updates the cache, many requests in flight do harm: few are preferred.
    """
    probabilities = min_max(list(kept.values()))
    scores = {}
    for setting, p in zip(kept, probabilities, strict=True):
        size, count = (_log_share(space, knob_id, setting[knob_id]) for knob_id in ("pages", "flight"))
        if direction == "read":
            scores[setting] = p + size + count
        elif updating:
            scores[setting] = p + (1 - count)
        else:
            scores[setting] = p * (1 + size + count)
    return scores


def best(scores: Mapping[Setting, float]) -> Setting:
    """The highest score; among equals the first candidate, so that a log replays alike."""
    return max(scores, key=lambda setting: scores[setting])


def _log_share(space: KnobSpace, knob_id: str, value: int) -> float:
    values = space[knob_id].values
    span = math.log2(values[-1] / values[0])
    return math.log2(value / values[0]) / span if span else 1.0
