"""Splitting a fitted model's prediction into signed seconds per feature that sum to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.plan.write.stacked import Stack
from penstock.plan.write.techniques import LINEAR

Floats = npt.NDArray[np.float64]


def linear_terms(pipeline: Any) -> tuple[float, Floats]:
    """Intercept and coefficients of a linear pipeline in the features' own units."""
    scaler, estimator = pipeline[0], pipeline[-1]
    slopes = np.asarray(estimator.coef_, dtype=np.float64).ravel() / scaler.scale_
    return float(estimator.intercept_ - slopes @ scaler.mean_), slopes


def split(technique: str, pipeline: Any, names: Sequence[str], row: Floats) -> dict[str, float]:
    """The intercept and the contribution of every feature.

    Linear models: coefficient times value. Trees: the change at each split on the way to the leaf. Kernel machines
    and stacks: the change as the features move one by one from their mean to their value.
    """
    if technique in LINEAR:
        intercept, slopes = linear_terms(pipeline)
        shares = slopes * row
    elif technique in {"tree", "forest"}:
        intercept, shares = _tree_shares(pipeline, row)
    else:
        intercept, shares = _walked_shares(pipeline, row)
    found = {"intercept": intercept}
    found.update({name: float(share) for name, share in zip(names, shares, strict=True) if share != 0.0})
    return found


def _tree_shares(pipeline: Any, row: Floats) -> tuple[float, Floats]:
    estimator = pipeline[-1]
    scaled = pipeline[0].transform(row[None, :]).astype(np.float32)[0]
    trees = [each.tree_ for each in getattr(estimator, "estimators_", [estimator])]
    shares = np.zeros(row.size)
    base = 0.0
    for tree in trees:
        node, value = 0, float(tree.value[0].item())
        base += value
        while tree.children_left[node] != -1:
            feature = int(tree.feature[node])
            left = scaled[feature] <= tree.threshold[node]
            node = int(tree.children_left[node] if left else tree.children_right[node])
            shares[feature] += float(tree.value[node].item()) - value
            value = float(tree.value[node].item())
    return base / len(trees), shares / len(trees)


def _walked_shares(pipeline: Any, row: Floats) -> tuple[float, Floats]:
    scaler = pipeline if isinstance(pipeline, Stack) else pipeline[0]
    start = np.asarray(scaler.mean_, dtype=np.float64)
    steps = np.tile(start, (row.size + 1, 1))
    for feature in range(row.size):
        steps[feature + 1 :, feature] = row[feature]
    path = np.asarray(pipeline.predict(steps), dtype=np.float64)
    return float(path[0]), np.diff(path)
