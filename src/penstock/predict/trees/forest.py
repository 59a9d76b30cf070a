"""A forest of decision trees and its plain definition: one complete feature vector in, one sum out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Additive trees over a feature vector, as parallel arrays; `value[i]` belongs to leaf `i`.

    A child >= 0 is a node of the whole forest, a child < 0 the leaf ~child. `roots` holds one child per tree.
    A sample goes left when its feature is at most the threshold; NaN goes where `missing_left` says. `cover`
    counts the training samples in each leaf. The probability is 1 / (1 + exp(-(slope * sum + intercept))).
    """

    features: int
    roots: Ints
    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    missing_left: Bools
    value: Floats
    cover: Floats
    slope: float = 1.0
    intercept: float = 0.0

    def probability(self, score: Floats) -> Floats:
        """The calibrated probability of a score."""
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(self.slope * score + self.intercept, -500.0, 500.0))))


def score_rows(forest: Forest, rows: Floats) -> Floats:
    """The sum over all trees for each complete feature vector: the plain definition of a forest."""
    total = np.zeros(len(rows))
    index = np.arange(len(rows))
    for root in forest.roots:
        at = np.full(len(rows), root, dtype=np.int64)
        while (inner := at >= 0).any():
            node = at[inner]
            value = rows[index[inner], forest.feature[node]]
            goes_left = np.where(np.isnan(value), forest.missing_left[node], value <= forest.threshold[node])
            at[inner] = np.where(goes_left, forest.left[node], forest.right[node])
        total += forest.value[~at]
    return total
