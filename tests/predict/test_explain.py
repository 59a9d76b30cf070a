from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from penstock.predict.explain import explain, importance
from penstock.predict.trees import Forest, score_rows
from penstock.testing.made_models import random_forest


def expectation(forest: Forest, vector: np.ndarray, known: frozenset[int]) -> float:
    """A tree's mean over its training samples, following the vector where a feature is known."""

    def below(child: int) -> tuple[float, float]:
        if child < 0:
            return float(forest.cover[~child]), float(forest.value[~child])
        left, right = below(int(forest.left[child])), below(int(forest.right[child]))
        n = left[0] + right[0]
        feature = int(forest.feature[child])
        if feature in known:
            return n, (left if vector[feature] <= forest.threshold[child] else right)[1]
        return n, (left[0] * left[1] + right[0] * right[1]) / n

    return sum(below(int(root))[1] for root in forest.roots)


def shapley(forest: Forest, vector: np.ndarray) -> np.ndarray:
    count = forest.features
    phi = np.zeros(count)
    for feature in range(count):
        others = [index for index in range(count) if index != feature]
        for size in range(count):
            weight = math.factorial(size) * math.factorial(count - size - 1) / math.factorial(count)
            for chosen in itertools.combinations(others, size):
                known = frozenset(chosen)
                gain = expectation(forest, vector, known | {feature}) - expectation(forest, vector, known)
                phi[feature] += weight * gain
    return phi


@pytest.mark.parametrize("seed", range(4))
def test_contributions_are_shapley_values(seed: int) -> None:
    forest = random_forest(seed, 6, trees=2, leaves=9)
    vector = np.random.default_rng(seed).uniform(0, 12, 6)
    why = explain(forest, vector)
    assert why.contributions == pytest.approx(forest.slope * shapley(forest, vector), abs=1e-9)


def test_contributions_sum_to_the_score() -> None:
    forest = random_forest(9, 12, trees=30, leaves=20)
    vector = np.random.default_rng(0).uniform(0, 12, 12)
    vector[3] = np.nan
    why = explain(forest, vector)
    assert why.logit == pytest.approx(forest.slope * score_rows(forest, vector[None])[0] + forest.intercept)
    assert why.probability == pytest.approx(float(forest.probability(score_rows(forest, vector[None]))[0]))


def test_importance_shares_sum_to_one_and_ignore_the_unused() -> None:
    forest = random_forest(1, 12, trees=3, leaves=4)
    shares = importance(forest)
    assert shares.sum() == pytest.approx(1.0)
    unused = set(range(12)) - set(forest.feature.tolist())
    assert all(shares[index] == 0 for index in unused)
