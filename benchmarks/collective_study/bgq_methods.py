"""The paper's two methods on the calibrated Blue Gene/Q: counts times learned elements, and pure learning."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from penstock.plan.collective.bgq.machine import STORAGE, BgqMachine
from penstock.plan.collective.bgq.operations import (
    BUFFER_BYTES,
    CORES,
    NODE_COUNTS,
    PER_PSET,
    BgqHints,
    BgqTerm,
    configurations,
    grid,
    terms,
)
from penstock.plan.collective.surrogates import Floats, make

FLOOR = 0.05
# From smooth to faithful: cross-validation finds how much the noise lets one believe.
STIFFNESS = (0.03, 0.3, 3.0, 30.0)
FOLDS = 5


def noisy(times: Floats, sigma: float, rng: np.random.Generator) -> Floats:
    """The paper's noise, t (1 + N(0, sigma^2)); times that would fall below 5 % of t are kept there."""
    factors: Floats = np.maximum(1.0 + rng.normal(0.0, sigma, times.shape), FLOOR)
    return times * factors


def measured_elements(machine: BgqMachine, seed: int) -> tuple[list[BgqTerm], Floats]:
    """Elemental measurements on the paper's designs, with the scatter of measured runs on storage operations."""
    asked = list(_design())
    clean = machine.seconds(asked)
    stored = np.array([term.operation in STORAGE for term in asked])
    scatter = np.random.default_rng(seed).normal(0.0, machine.spread, len(asked))
    return asked, np.asarray(clean * np.exp(np.where(stored, scatter, 0.0)))


def _design() -> Iterator[BgqTerm]:
    """How many points of which sizes the paper took (section V-C3)."""
    for nodes in NODE_COUNTS:
        ranks = nodes * CORES
        for power in range(2, 21):
            yield BgqTerm("allreduce", 1, nodes, ranks, ranks, 1 << power)
        for power in range(0, 17):
            yield BgqTerm("alltoall", 1, nodes, ranks, ranks, 4 << power if power < 16 else 1)
        shares = (1 / 64, 1 / 16, 1 / 4, 1.0)
        for size_power, senders, receivers in itertools.product(range(0, 27, 2), shares, shares[:3]):
            sending = max(1.0, senders * ranks)
            yield BgqTerm(
                "alltoallv", 1, nodes, sending, max(1.0, min(sending, receivers * ranks)), 1 << size_power
            )
        for size in BUFFER_BYTES:
            for part in range(1, 31):
                writers = nodes * 4.2 * (part / 30) ** 2 + 1
                yield BgqTerm("lock", 1, nodes, writers, 1, size)
                yield BgqTerm("partial", 1, nodes, writers, 1, size)
            for per_pset in PER_PSET:
                yield BgqTerm("full", 1, nodes, BgqHints(per_pset).aggregators(nodes), 1, size)


class BgqHybrid:
    """Counts times surrogates of the elements, one smooth regression an operation.

    `repetitions` of 1 is the paper's protocol: one noisy time an element. With more the median is learned, as
    our own profiles do.
    """

    def __init__(
        self, elements: tuple[list[BgqTerm], Floats], sigma: float = 0.0, seed: int = 0, repetitions: int = 1
    ) -> None:
        asked, times = elements
        rng = np.random.default_rng(seed)
        self._models: dict[str, Any] = {}
        for name in sorted({term.operation for term in asked}):
            mine = [place for place, term in enumerate(asked) if term.operation == name]
            repeated = np.tile(times[mine], (repetitions, 1))
            target = np.log(np.median(noisy(repeated, sigma, rng) if sigma else repeated, axis=0))
            self._models[name] = _tuned(_rows([asked[place] for place in mine]), target)

    def run_times(self) -> Floats:
        """Predicted seconds of the grid, one row an instance, one column a configuration."""
        counted = [terms(instance, hints) for instance in grid() for hints in configurations()]
        answers = np.zeros(len(counted))
        for name, model in self._models.items():
            asked = [
                (place, term) for place, one in enumerate(counted) for term in one if term.operation == name
            ]
            each = np.exp(model.predict(_rows([term for _, term in asked])))
            np.add.at(answers, [place for place, _ in asked], each * [term.times for _, term in asked])
        return answers.reshape(len(grid()), -1)


class BgqLearned:
    """Pure learning on whole run times: three an instance by a fractional factorial design, or fewer."""

    def __init__(self, truth: Floats, sigma: float = 0.0, points: int = 99, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        chosen = [(row, column) for row in range(len(truth)) for column in _thirds(row + seed)]
        picked = [chosen[place] for place in rng.permutation(len(chosen))[:points]]
        times = np.array([truth[row, column] for row, column in picked])
        target = np.log(noisy(times, sigma, rng) if sigma else times)
        self._model = _tuned(np.array([_features(row, column) for row, column in picked]), target)

    def run_times(self) -> Floats:
        """Predicted seconds of the grid, one row an instance, one column a configuration."""
        cells = [_features(row, column) for row in range(len(grid())) for column in range(9)]
        answers: Floats = np.exp(self._model.predict(np.array(cells))).reshape(-1, 9)
        return answers


def _tuned(inputs: Floats, target: Floats) -> Any:
    order = np.random.default_rng(0).permutation(len(target))

    def machine(stiffness: float) -> Any:
        return make("svr-rbf", {"C": stiffness, "gamma": 0.1, "epsilon": 0.05})

    def error(stiffness: float) -> float:
        total = 0.0
        for fold in range(FOLDS):
            held, kept = order[fold::FOLDS], np.setdiff1d(order, order[fold::FOLDS])
            guesses = machine(stiffness).fit(inputs[kept], target[kept]).predict(inputs[held])
            total += float(np.abs(guesses - target[held]).sum())
        return total

    return machine(min(STIFFNESS, key=error)).fit(inputs, target)


def _rows(asked: Sequence[BgqTerm]) -> Floats:
    rows = [(term.nodes, term.senders, term.receivers, term.bytes) for term in asked]
    return np.log2(np.maximum(np.array(rows, dtype=np.float64), 1e-3))


def _thirds(row: int) -> list[int]:
    """A third of the 3 x 3 design, every level once, rotated by instance."""
    return [3 * level + (level + row) % 3 for level in range(3)]


def _features(row: int, column: int) -> list[float]:
    instance, hints = grid()[row], configurations()[column]
    return [
        float(np.log2(v))
        for v in (instance.nodes, instance.bytes_per_rank, hints.per_pset, hints.buffer_bytes)
    ]
