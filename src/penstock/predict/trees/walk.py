"""The compiled walk; imported only when numba is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

MAX_WAITING = 128


@njit(cache=True)
def walk(past: Any, trees: Any, leaves: Any, grid: Any, totals: Any) -> None:
    """Fill `totals[target, candidate]`. A tree never leaves more than `MAX_WAITING` children for later."""
    roots = trees[0]
    length0, length1, length2, cell = grid
    sums = np.empty(length0 * length1 * length2)
    waiting = np.empty(MAX_WAITING, dtype=np.int32)
    for target in range(past.shape[0]):
        sums[:] = 0.0
        row = past[target]
        for tree in range(roots.shape[0]):
            _walk_tree(roots[tree], row, trees, leaves, waiting, sums)
        _run_up(sums, length0, length1, length2)
        for candidate in range(cell.shape[0]):
            totals[target, candidate] = sums[cell[candidate]]


@njit(cache=True)
def _walk_tree(root: Any, row: Any, trees: Any, leaves: Any, waiting: Any, sums: Any) -> None:
    _, feature, threshold, left, right, missing_left = trees
    value, starts, corners = leaves
    waiting[0] = root
    depth = 1
    while depth > 0:
        depth -= 1
        node = waiting[depth]
        while node >= 0:
            if feature[node] < 0:
                waiting[depth] = right[node]
                depth += 1
                node = left[node]
            else:
                seen = row[feature[node]]
                goes_left = missing_left[node] if np.isnan(seen) else seen <= threshold[node]
                node = left[node] if goes_left else right[node]
        leaf = ~node
        for index in range(starts[leaf], starts[leaf + 1]):
            corner = corners[index]
            if corner >= 0:
                sums[corner] += value[leaf]
            else:
                sums[~corner] -= value[leaf]


@njit(cache=True)
def _run_up(sums: Any, length0: Any, length1: Any, length2: Any) -> None:
    """Turn corners into boxes: a running sum along each axis in turn."""
    plane = length1 * length2
    for index in range(plane, length0 * plane):
        sums[index] += sums[index - plane]
    for outer in range(length0):
        for index in range(outer * plane + length2, (outer + 1) * plane):
            sums[index] += sums[index - length2]
    for outer in range(length0 * length1):
        for index in range(outer * length2 + 1, (outer + 1) * length2):
            sums[index] += sums[index - 1]
