"""The pure machine-learning baseline: run times of whole writes, nothing known about how they come about.

As in the paper: support vector regression with a radial kernel on three points an instance, which a
fractional factorial design picks, tuned by cross-validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.errors import DataError
from penstock.plan.collective.access import Access
from penstock.plan.collective.candidates import Candidate
from penstock.plan.collective.counts import count
from penstock.plan.collective.surrogates import Floats, make

POINTS_PER_INSTANCE = 3
FOLDS = 10
GRID = [
    (c, gamma, epsilon) for c in (1.0, 10.0, 100.0) for gamma in (0.03, 0.1, 0.3) for epsilon in (0.02, 0.1)
]


@dataclass(frozen=True, slots=True)
class Run:
    """One whole write and how long it took."""

    access: Access
    candidate: Candidate
    seconds: float


def fractional_design(options: Sequence[Candidate], instance: int) -> list[Candidate]:
    """A third of the 3 x 3 design over aggregators and buffers, rotated from instance to instance.

    Every level of both factors occurs once, so three runs see three aggregator counts and three buffers.
    """
    given = [option for option in options if option.hints.cb_nodes is not None]
    aggregators = _levels([option.hints.cb_nodes or 0 for option in given])
    chosen = []
    for row, wanted in enumerate(aggregators):
        rivals = [option for option in given if option.hints.cb_nodes == wanted]
        buffers = _levels([option.hints.cb_buffer_size or 0 for option in rivals])
        size = buffers[(row + instance) % len(buffers)]
        chosen.append(next(option for option in rivals if option.hints.cb_buffer_size == size))
    return chosen


def _levels(values: Sequence[int]) -> list[int]:
    """The lowest, the middle and the highest of the distinct values."""
    distinct = sorted(set(values))
    return [distinct[0], distinct[len(distinct) // 2], distinct[-1]]


class BlackBox:
    """Support vector regression of a write's time on its shape and hints."""

    def __init__(self, runs: Sequence[Run]) -> None:
        if len(runs) < POINTS_PER_INSTANCE:
            raise DataError(
                f"{len(runs)} runs are too few to learn from; {POINTS_PER_INSTANCE} are the least"
            )
        inputs = np.array([_row(run.access, run.candidate) for run in runs])
        target = np.log([run.seconds for run in runs])
        self.parameters = min(GRID, key=lambda setting: _error(setting, inputs, target))
        self._model = _machine(self.parameters).fit(inputs, target)

    def seconds(self, access: Access, options: Sequence[Candidate]) -> Floats:
        """The predicted run time of every option."""
        answers: Floats = np.exp(self._model.predict(np.array([_row(access, option) for option in options])))
        return answers


def _row(access: Access, option: Candidate) -> list[float]:
    plan = count(access, option.hints)
    aggregators = len(plan.aggregators) or access.ranks
    buffer_bytes = option.hints.cb_buffer_size or 16 << 20
    shape = (access.ranks, access.bytes_per_rank, access.block_bytes, aggregators, buffer_bytes)
    return [float(np.log2(value)) for value in shape]


def _machine(setting: tuple[float, float, float]) -> Any:
    c, gamma, epsilon = setting
    return make("svr-rbf", {"C": c, "gamma": gamma, "epsilon": epsilon})


def _error(setting: tuple[float, float, float], inputs: Floats, target: Floats) -> float:
    folds = min(FOLDS, len(target))
    order = np.random.default_rng(0).permutation(len(target))
    total = 0.0
    for fold in range(folds):
        held, kept = order[fold::folds], np.setdiff1d(order, order[fold::folds])
        guesses = _machine(setting).fit(inputs[kept], target[kept]).predict(inputs[held])
        total += float(np.sum((guesses - target[held]) ** 2))
    return total
