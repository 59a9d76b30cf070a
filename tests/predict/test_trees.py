from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.predict.featuresets import FULL
from penstock.predict.trees import Forest, compile_forest, score_rows, scores_numba, scores_numpy
from penstock.spaces import LUSTRE
from penstock.testing.made_models import random_forest

GRID = FULL.candidate_matrix(LUSTRE.candidates())


def walked_one_by_one(forest: Forest, past: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    rows = np.hstack([np.repeat(past, len(candidates), axis=0), np.tile(candidates, (len(past), 1))])
    return score_rows(forest, rows).reshape(len(past), len(candidates))


@pytest.mark.parametrize("version", [scores_numpy, scores_numba])
@pytest.mark.parametrize(("trees", "leaves"), [(1, 1), (1, 2), (40, 31), (7, 64)])
def test_scores_equal_the_plain_walk(version: object, trees: int, leaves: int) -> None:
    forest = random_forest(3, 20, trees, leaves)
    past = np.random.default_rng(1).uniform(0, 12, (17, 17))
    past[::3, 4] = np.nan
    found = version(compile_forest(forest, GRID), past)  # type: ignore[operator]
    assert np.abs(found - walked_one_by_one(forest, past, GRID)).max() < 1e-9


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), leaves=st.integers(1, 20), picked=st.data())
def test_scores_hold_for_any_forest_and_any_candidates(seed: int, leaves: int, picked: st.DataObject) -> None:
    forest = random_forest(seed, 8, trees=3, leaves=leaves)
    chosen = picked.draw(st.lists(st.integers(0, 98), min_size=1, max_size=12, unique=True))
    past = np.random.default_rng(seed).uniform(0, 12, (3, 5))
    compiled = compile_forest(forest, GRID[chosen])
    plain = walked_one_by_one(forest, past, GRID[chosen])
    assert np.abs(scores_numpy(compiled, past) - plain).max() < 1e-9
    assert np.abs(scores_numba(compiled, past) - plain).max() < 1e-9


def test_missing_values_take_the_learned_side() -> None:
    forest = Forest(
        features=4,
        roots=np.array([0], np.int32),
        feature=np.array([0], np.int32),
        threshold=np.array([5.0]),
        left=np.array([~0], np.int32),
        right=np.array([~1], np.int32),
        missing_left=np.array([False]),
        value=np.array([-1.0, 1.0]),
        cover=np.array([1.0, 1.0]),
    )
    past = np.array([[4.0], [6.0], [np.nan]])
    compiled = compile_forest(forest, GRID[:2])
    assert scores_numpy(compiled, past)[:, 0].tolist() == [-1.0, 1.0, 1.0]
    assert scores_numba(compiled, past)[:, 0].tolist() == [-1.0, 1.0, 1.0]


def test_probability_is_calibrated_and_never_overflows() -> None:
    forest = random_forest(0, 10)
    p = forest.probability(np.array([-1e9, 0.0, 1e9]))
    assert p[0] < 1e-9 and p[2] > 1 - 1e-9
    assert p[1] == pytest.approx(1 / (1 + np.exp(0.2)))
