"""The paper's studies on the made-up machine: its 33 x 9 grid, noise, and the size of the training set.

Self-consistency only: both the elements that train the hybrid and the run times it is scored on come from
`bgq_machine`. What is compared is how much of that a method recovers, and how noise spoils it.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.collective_study.bgq import (
    BgqHints,
    BgqInstance,
    BgqSwitches,
    BgqTerm,
    configurations,
    grid,
    terms,
)
from benchmarks.collective_study.bgq_machine import BgqSample, benchmark, seconds

from penstock.plan.collective.surrogates import Floats, make

SIGMAS = (0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
FLOOR = 0.05
# Elements are cheap to repeat and a profile takes medians; an application's whole run is measured once.
REPETITIONS = 7
# From smooth to faithful: cross-validation finds how much the noise lets one believe.
STIFFNESS = (0.03, 0.3, 3.0, 30.0)
FOLDS = 5
DEFAULT = BgqHints()


def run_time(instance: BgqInstance, hints: BgqHints, switches: BgqSwitches | None = None) -> float:
    """The made-up machine's time for one collective write."""
    switches = BgqSwitches() if switches is None else switches
    aware = switches.topology_aware
    return sum(term.times * seconds(term, topology_aware=aware) for term in terms(instance, hints, switches))


def noisy(times: Floats, sigma: float, rng: np.random.Generator) -> Floats:
    """The paper's noise, t (1 + N(0, sigma^2)); times that would fall below 5 % of t are kept there."""
    factors: Floats = np.maximum(1.0 + rng.normal(0.0, sigma, times.shape), FLOOR)
    return times * factors


class BgqHybrid:
    """Counts times surrogates of the elements, one smooth regression an operation."""

    def __init__(
        self, samples: Sequence[BgqSample], sigma: float = 0.0, seed: int = 0, repetitions: int = REPETITIONS
    ) -> None:
        rng = np.random.default_rng(seed)
        self._models: dict[str, Any] = {}
        for name in sorted({sample.term.operation for sample in samples}):
            chosen = [sample for sample in samples if sample.term.operation == name]
            times = np.array([sample.seconds for sample in chosen])
            repeated = noisy(np.tile(times, (repetitions, 1)), sigma, rng) if sigma else times[None]
            target = np.log(np.median(repeated, axis=0))
            self._models[name] = _tuned(_rows([sample.term for sample in chosen]), target)

    def run_times(self, instances: Sequence[BgqInstance]) -> Floats:
        """Predicted seconds, one row an instance, one column a configuration."""
        counted = [terms(instance, hints) for instance in instances for hints in configurations()]
        answers = np.zeros(len(counted))
        for name, model in self._models.items():
            asked = [
                (place, term) for place, one in enumerate(counted) for term in one if term.operation == name
            ]
            if not asked:
                continue
            each = np.exp(model.predict(_rows([term for _, term in asked])))
            np.add.at(answers, [place for place, _ in asked], each * [term.times for _, term in asked])
        return answers.reshape(len(instances), -1)


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


class BgqLearned:
    """The pure-learning baseline on whole run times, three a instance."""

    def __init__(self, truth: Floats, sigma: float = 0.0, points: int = 99, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        chosen = [(row, column) for row in range(len(truth)) for column in _thirds(row)]
        kept = rng.permutation(len(chosen))[:points]
        picked = [chosen[place] for place in kept]
        times = np.array([truth[row, column] for row, column in picked])
        target = np.log(noisy(times, sigma, rng) if sigma else times)
        inputs = np.array([_features(row, column) for row, column in picked])
        self._model = _tuned(inputs, target)

    def run_times(self, instances: Sequence[BgqInstance]) -> Floats:
        """Predicted seconds, one row an instance, one column a configuration."""
        cells = [_features(row, column) for row in range(len(instances)) for column in range(9)]
        answers: Floats = np.exp(self._model.predict(np.array(cells))).reshape(len(instances), 9)
        return answers


def _thirds(row: int) -> list[int]:
    """A third of the 3 x 3 design, every level once, rotated by instance."""
    return [3 * level + (level + row) % 3 for level in range(3)]


def _features(row: int, column: int) -> list[float]:
    instance, hints = grid()[row], configurations()[column]
    return [
        float(np.log2(v))
        for v in (instance.nodes, instance.bytes_per_rank, hints.per_pset, hints.buffer_bytes)
    ]


@dataclass(frozen=True, slots=True)
class StudyRow:
    """One method at one setting: speedups over the default, and its ranking against the noise-free truth."""

    method: str
    setting: str
    geomean_speedup: float
    worse_than_default: float
    rank_correlation: float


def judge(method: str, setting: str, truth: Floats, predictions: Sequence[Floats]) -> StudyRow:
    """Score repeated predictions of the whole grid."""
    default = configurations().index(DEFAULT)
    speedups, worse, correlations = [], [], []
    for predicted in predictions:
        picked = truth[np.arange(len(truth)), predicted.argmin(axis=1)]
        gains = truth[:, default] / picked
        speedups.append(float(np.exp(np.log(gains).mean())))
        worse.append(float((gains < 0.99).sum()))
        correlations += [rank_correlation(a, b) for a, b in zip(truth, predicted, strict=True)]
    return StudyRow(
        method, setting, statistics.fmean(speedups), statistics.fmean(worse), statistics.fmean(correlations)
    )


def rank_correlation(one: Floats, other: Floats) -> float:
    """Spearman's correlation of two rankings."""
    return float(np.corrcoef(_ranks(one), _ranks(other))[0, 1])


def _ranks(values: Floats) -> Floats:
    """Places in the order, ties sharing the mean of theirs."""
    order = np.sort(values)
    return (np.searchsorted(order, values, "left") + np.searchsorted(order, values, "right")) / 2.0


def true_times() -> Floats:
    """The made-up machine's 33 x 9 grid."""
    return np.array([[run_time(instance, hints) for hints in configurations()] for instance in grid()])


def noise_study(repetitions: int = 10, sigmas: Sequence[float] = (0.0, *SIGMAS)) -> list[StudyRow]:
    """Hybrid and learned under noise in their training data.

    Noise hits every repetition of an element, of which the hybrid takes the median, as its profile does;
    "unrepeated" is the paper's stricter protocol with one noisy time an element.
    """
    truth, samples, instances = true_times(), benchmark(), grid()
    rows = []
    for sigma in sigmas:
        hybrid = [BgqHybrid(samples, sigma, seed).run_times(instances) for seed in range(repetitions)]
        single = [BgqHybrid(samples, sigma, seed, 1).run_times(instances) for seed in range(repetitions)]
        learned = [BgqLearned(truth, sigma, seed=seed).run_times(instances) for seed in range(repetitions)]
        rows.append(judge("hybrid", f"sigma {sigma:g}", truth, hybrid))
        rows.append(judge("hybrid, unrepeated", f"sigma {sigma:g}", truth, single))
        rows.append(judge("ml", f"sigma {sigma:g}", truth, learned))
    return rows


def training_study(repetitions: int = 10) -> list[StudyRow]:
    """The learned baseline with 99, 66 and 33 training runs, against chance and the best there is."""
    truth, instances = true_times(), grid()
    rows = [
        judge(
            "ml",
            f"{points} runs",
            truth,
            [BgqLearned(truth, points=points, seed=seed).run_times(instances) for seed in range(repetitions)],
        )
        for points in (99, 66, 33)
    ]
    rng = np.random.default_rng(0)
    rows.append(judge("random", "", truth, [rng.random(truth.shape) for _ in range(repetitions)]))
    rows.append(judge("optimal", "", truth, [truth]))
    return rows
