"""Why a forest says what it says: each feature's contribution to one score (TreeSHAP, path-dependent).

Contributions are exact Shapley values of the tree's own conditional expectations: together with the base
they sum to the score. Lundberg, Erion, Lee: Consistent individualized feature attribution (2018), alg. 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.predict.trees.forest import Floats, Forest


@dataclass(slots=True)
class _Step:
    """One feature on the path: the shares of samples that flow on when it is unknown and when it is known."""

    feature: int
    unknown: float
    known: float
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """`base` is the expected score; `contributions` has one entry per feature; both in units of the logit."""

    base: float
    contributions: Floats

    @property
    def logit(self) -> float:
        """What they sum to."""
        return self.base + float(self.contributions.sum())

    @property
    def probability(self) -> float:
        """The logit as a probability."""
        return 1.0 / (1.0 + math.exp(-self.logit))


def explain(forest: Forest, vector: Floats) -> Explanation:
    """Split one complete feature vector's calibrated logit into contributions."""
    cover, expected = _expectations(forest)
    phi = np.zeros(forest.features)
    base = 0.0
    for root in forest.roots:
        base += expected[root] if root >= 0 else float(forest.value[~root])
        if root >= 0:
            _Walk(forest, cover, vector, phi).visit(int(root), [], (1.0, 1.0, -1))
    return Explanation(forest.slope * base + forest.intercept, forest.slope * phi)


def importance(forest: Forest) -> Floats:
    """How much each feature separates: the variance its splits take away, as a share of all. Sums to 1."""
    cover, expected = _expectations(forest)
    gains = np.zeros(forest.features)
    for node in range(len(forest.feature)):
        sides = [
            _look(forest, cover, expected, int(child)) for child in (forest.left[node], forest.right[node])
        ]
        gains[forest.feature[node]] += sum(n * (value - expected[node]) ** 2 for n, value in sides)
    total = gains.sum()
    return np.asarray(gains / total if total else gains)


def _look(forest: Forest, cover: Floats, expected: Floats, child: int) -> tuple[float, float]:
    if child < 0:
        return float(forest.cover[~child]), float(forest.value[~child])
    return float(cover[child]), float(expected[child])


def _expectations(forest: Forest) -> tuple[Floats, Floats]:
    """Samples and mean value below every node; children come after their parents, so go backwards."""
    cover, total = np.zeros(len(forest.feature)), np.zeros(len(forest.feature))
    for node in range(len(forest.feature) - 1, -1, -1):
        for child in (int(forest.left[node]), int(forest.right[node])):
            n = forest.cover[~child] if child < 0 else cover[child]
            cover[node] += n
            total[node] += n * forest.value[~child] if child < 0 else total[child]
    return cover, total / np.maximum(cover, 1.0)


class _Walk:
    def __init__(self, forest: Forest, cover: Floats, vector: Floats, phi: Floats) -> None:
        self.forest, self.cover, self.vector, self.phi = forest, cover, vector, phi

    def visit(self, node: int, above: list[_Step], arriving: tuple[float, float, int]) -> None:
        unknown, known, feature = arriving
        path = _extend(above, unknown, known, feature)
        if node < 0:
            self._settle(path, float(self.forest.value[~node]))
            return
        split = int(self.forest.feature[node])
        value = self.vector[split]
        left = self.forest.missing_left[node] if np.isnan(value) else value <= self.forest.threshold[node]
        hot, cold = int(self.forest.left[node]), int(self.forest.right[node])
        hot, cold = (hot, cold) if left else (cold, hot)
        before_unknown = before_known = 1.0
        for index, step in enumerate(path):
            if index and step.feature == split:
                before_unknown, before_known = step.unknown, step.known
                path = _unwind(path, index)
                break
        share = 1.0 / self.cover[node]
        self.visit(hot, path, (before_unknown * self._count(hot) * share, before_known, split))
        self.visit(cold, path, (before_unknown * self._count(cold) * share, 0.0, split))

    def _count(self, child: int) -> float:
        return float(self.forest.cover[~child] if child < 0 else self.cover[child])

    def _settle(self, path: list[_Step], value: float) -> None:
        for index in range(1, len(path)):
            step = path[index]
            self.phi[step.feature] += _unwound_sum(path, index) * (step.known - step.unknown) * value


def _extend(path: list[_Step], unknown: float, known: float, feature: int) -> list[_Step]:
    depth = len(path)
    longer = [_Step(step.feature, step.unknown, step.known, step.weight) for step in path]
    longer.append(_Step(feature, unknown, known, 0.0 if depth else 1.0))
    for index in range(depth - 1, -1, -1):
        longer[index + 1].weight += known * longer[index].weight * (index + 1) / (depth + 1)
        longer[index].weight = unknown * longer[index].weight * (depth - index) / (depth + 1)
    return longer


def _unwind(path: list[_Step], at: int) -> list[_Step]:
    depth = len(path) - 1
    shorter = [_Step(step.feature, step.unknown, step.known, step.weight) for step in path]
    unknown, known = path[at].unknown, path[at].known
    carried = path[depth].weight
    for index in range(depth - 1, -1, -1):
        if known != 0:
            kept = shorter[index].weight
            shorter[index].weight = carried * (depth + 1) / ((index + 1) * known)
            carried = kept - shorter[index].weight * unknown * (depth - index) / (depth + 1)
        else:
            shorter[index].weight = shorter[index].weight * (depth + 1) / (unknown * (depth - index))
    for index in range(at, depth):
        after = shorter[index + 1]
        shorter[index] = _Step(after.feature, after.unknown, after.known, shorter[index].weight)
    return shorter[:-1]


def _unwound_sum(path: list[_Step], at: int) -> float:
    depth = len(path) - 1
    unknown, known = path[at].unknown, path[at].known
    carried, total = path[depth].weight, 0.0
    for index in range(depth - 1, -1, -1):
        if known != 0:
            part = carried * (depth + 1) / ((index + 1) * known)
            total += part
            carried = path[index].weight - part * unknown * (depth - index) / (depth + 1)
        elif unknown != 0:
            total += path[index].weight / unknown * (depth + 1) / (depth - index)
    return total
