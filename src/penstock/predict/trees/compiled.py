"""What depends only on the candidates, worked out once: who can reach which leaf, and as which box."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.predict.trees.forest import Bools, Floats, Forest, Ints


@dataclass(frozen=True, slots=True, eq=False)
class CompiledForest:
    """A forest made ready for one list of candidates.

    Nodes that test the candidate have feature -1 and are kept only where both children have candidates.
    `corners[starts[i]:starts[i + 1]]` are cells of the level grid; a negative entry ~c subtracts at cell c.
    `weights[j, i]` is leaf i's value where it holds candidate j, else zero. `cell[j]` is candidate j's cell
    of the level grid, whose shape is `levels`.
    """

    forest: Forest
    past: int
    roots: Ints
    feature: Ints
    left: Ints
    right: Ints
    weights: Floats
    starts: Ints
    corners: Ints
    levels: tuple[int, ...]
    cell: Ints


def compile_forest(forest: Forest, candidates: Floats) -> CompiledForest:
    """Work out once what depends only on the candidates; their features are the vector's last columns."""
    past = forest.features - candidates.shape[1]
    levels = [np.unique(column) for column in candidates.T]
    shape = tuple(len(level) for level in levels)
    ranks = [np.searchsorted(level, column) for level, column in zip(levels, candidates.T, strict=True)]
    compiler = _Compiler(forest, past, candidates, levels)
    roots = np.array([compiler.reduce(root) for root in forest.roots], dtype=np.int32)
    starts, corners = _corners(compiler.box_low, compiler.box_high, shape)
    return CompiledForest(
        forest=forest,
        past=past,
        roots=roots,
        feature=np.where(forest.feature >= past, -1, forest.feature).astype(np.int32),
        left=compiler.left,
        right=compiler.right,
        weights=np.where(compiler.members.T, forest.value, 0.0),
        starts=starts,
        corners=corners,
        levels=shape,
        cell=np.ravel_multi_index(ranks, shape).astype(np.int32),
    )


class _Compiler:
    """Follows every tree once with the set of candidates that can come by, and cuts what none reaches."""

    def __init__(self, forest: Forest, past: int, candidates: Floats, levels: list[Floats]) -> None:
        self.forest, self.past, self.candidates, self.levels = forest, past, candidates, levels
        self.left, self.right = forest.left.copy(), forest.right.copy()
        leaves = len(forest.value)
        self.members = np.zeros((leaves, len(candidates)), dtype=np.bool_)
        self.box_low = np.zeros((leaves, len(levels)), dtype=np.int64)
        self.box_high = np.zeros((leaves, len(levels)), dtype=np.int64)

    def reduce(self, root: int) -> int:
        """The child to start from; visits nodes depth first without recursion."""
        everyone = np.ones(len(self.candidates), dtype=np.bool_)
        start = self._skip(int(root), everyone)
        box = (
            np.zeros(len(self.levels), np.int64),
            np.array([len(level) for level in self.levels], np.int64),
        )
        waiting = [(start, everyone, box)]
        while waiting:
            child, members, (low, high) = waiting.pop()
            if child < 0:
                self.members[~child], self.box_low[~child], self.box_high[~child] = members, low, high
                continue
            axis = int(self.forest.feature[child]) - self.past
            low_side = high_side = members
            low_high, high_low = high, low
            if axis >= 0:
                passes = self._passes(child, axis)
                cut = int(np.searchsorted(self.levels[axis], self.forest.threshold[child], side="right"))
                low_side, high_side = members & passes, members & ~passes
                low_high, high_low = high.copy(), low.copy()
                low_high[axis], high_low[axis] = min(high[axis], cut), max(low[axis], cut)
            self.left[child] = self._skip(int(self.forest.left[child]), low_side)
            self.right[child] = self._skip(int(self.forest.right[child]), high_side)
            waiting.append((int(self.left[child]), low_side, (low, low_high)))
            waiting.append((int(self.right[child]), high_side, (high_low, high)))
        return start

    def _skip(self, child: int, members: Bools) -> int:
        while child >= 0 and (axis := int(self.forest.feature[child]) - self.past) >= 0:
            passes = self._passes(child, axis)
            if (members & ~passes).any() and (members & passes).any():
                break
            child = int((self.forest.left if (members & passes).any() else self.forest.right)[child])
        return child

    def _passes(self, node: int, axis: int) -> Bools:
        return np.asarray(self.candidates[:, axis] <= self.forest.threshold[node])


def _corners(low: NDArray[np.int64], high: NDArray[np.int64], shape: tuple[int, ...]) -> tuple[Ints, Ints]:
    """The signed corners of every leaf's box; those beyond the grid's end are never summed and left out."""
    strides = np.array([int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))], dtype=np.int64)
    limits = np.array(shape)
    starts, corners = [0], []
    for box_low, box_high in zip(low, high, strict=True):
        if (box_low < box_high).all():
            for ends in itertools.product((0, 1), repeat=len(shape)):
                corner = np.where(ends, box_high, box_low)
                if (corner < limits).all():
                    cell = int(corner @ strides)
                    corners.append(~cell if sum(ends) % 2 else cell)
        starts.append(len(corners))
    return np.array(starts, dtype=np.int32), np.array(corners, dtype=np.int32)
