"""Forests of decision trees, and the probabilities of all candidates from one walk of each tree.

All candidate settings of a target share its past; only the candidate's own features differ. So a tree is
walked once per target: a test of the past picks one child, a test of the candidate follows both. Which
candidates end in a leaf that was reached does not depend on the target at all: it is a bit mask that
`compile_forest` works out once. What remains per target is a handful of comparisons a tree.

Adding a leaf's value to each of its candidates would cost more than the walk. A leaf's candidates form a box
in the levels of the candidate features, so a few signed additions at the corners of the box are enough,
and one running sum at the end turns corners into candidates.

The compiled version (extra `[fast]`) and the numpy version agree to rounding.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import numpy as np

from penstock.predict.trees.compiled import CompiledForest, compile_forest
from penstock.predict.trees.forest import Floats, Forest, score_rows

__all__ = [
    "CompiledForest",
    "Forest",
    "compile_forest",
    "has_numba",
    "score_rows",
    "scores",
    "scores_numba",
    "scores_numpy",
]


def scores_numpy(compiled: CompiledForest, past: Floats) -> Floats:
    """The summed trees of every (target, candidate), without a compiler: reached leaves times members.

    Targets are columns here, so that following a child copies whole rows.
    """
    forest = compiled.forest
    values = past.T[np.maximum(compiled.feature, 0)]
    goes_left = values <= forest.threshold[:, None]
    if np.isnan(past).any():
        goes_left |= np.isnan(values) & forest.missing_left[:, None]
    goes_right = ~goes_left
    either = compiled.feature < 0
    goes_left[either] = goes_right[either] = True
    reached = np.zeros((len(forest.value), len(past)))
    level = compiled.roots
    arrived = np.ones((len(level), len(past)), dtype=np.bool_)
    while len(level):
        leaf = level < 0
        reached[~level[leaf]] = arrived[leaf]
        nodes, arrived = level[~leaf], arrived[~leaf]
        level = np.concatenate([compiled.left[nodes], compiled.right[nodes]])
        arrived = np.concatenate([arrived & goes_left[nodes], arrived & goes_right[nodes]])
    return np.asarray((compiled.weights @ reached).T)


def scores_numba(compiled: CompiledForest, past: Floats) -> Floats:
    """The same numbers from compiled code; needs the extra `[fast]`."""
    from penstock.predict.trees.walk import walk

    forest = compiled.forest
    totals = np.empty((len(past), len(compiled.cell)))
    levels = (1,) * (3 - len(compiled.levels)) + compiled.levels
    walk(
        past,
        (
            compiled.roots,
            compiled.feature,
            forest.threshold,
            compiled.left,
            compiled.right,
            forest.missing_left,
        ),
        (forest.value, compiled.starts, compiled.corners),
        (levels[0], levels[1], levels[2], compiled.cell),
        totals,
    )
    return totals


@cache
def has_numba() -> bool:
    """Whether compiled inference is installed."""
    return find_spec("numba") is not None


def scores(compiled: CompiledForest, past: Floats) -> Floats:
    """The summed trees of every (target, candidate) by the fastest version at hand."""
    contiguous = np.ascontiguousarray(past)
    return scores_numba(compiled, contiguous) if has_numba() else scores_numpy(compiled, contiguous)
