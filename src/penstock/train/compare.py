"""CARAT's Table IV on real measurements: five kinds of classifiers on the same samples, labels and split.

Every kind gets the features that CARAT prints (k = 1), labels of 0 and 1, and the same number of trials. It is
trained on 80 % of the iterations and judged on the rest. A fifth of the training iterations is kept out of each
trial: it calibrates the scores and decides which trial is kept. RNN and TCN need the extra `[nets]` and are left
out without it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.errors import PenstockError, require_extra
from penstock.predict.featuresets import PRINTED
from penstock.predict.trees.forest import Floats
from penstock.train.calibrate import calibrate
from penstock.train.classifiers import FITTERS, Scorer, draws
from penstock.train.fit import Progress, check_samples, split_runs
from penstock.train.judge import Judgement, judge
from penstock.train.samples import Samples, samples
from penstock.train.table import Ints, TraceTable
from penstock.window import DIRECTIONS

HISTORY = 1
CANDIDATES = 99

# CARAT, Table IV: error (1 - accuracy) of read and write models.
PAPER = {
    "svm": {"read": 0.23, "write": 0.25},
    "fc-nn": {"read": 0.11, "write": 0.21},
    "rnn": {"read": 0.17, "write": 0.23},
    "tcn": {"read": 0.11, "write": 0.28},
    "gbdt": {"read": 0.04, "write": 0.12},
}


@dataclass(frozen=True, slots=True)
class ClassifierScore:
    """The result of one classifier for one direction: the trial with the least error on what trials are chosen by.

    `target_us` is the time for all 99 candidates of a target. `key` names data, budget and seed: equal keys, equal
    rows.
    """

    key: str
    kind: str
    direction: str
    judgement: Judgement
    paper_error: float
    trials: int
    given: Mapping[str, Any]
    train_s: float
    target_us: float


@dataclass(frozen=True, slots=True)
class TrialBudget:
    """What every kind gets."""

    trials: int
    seed: int


def compare(
    table: TraceTable,
    kinds: tuple[str, ...],
    budget: TrialBudget,
    say: Progress,
    known: Mapping[str, ClassifierScore],
) -> Iterator[ClassifierScore]:
    """One row per classifier and direction; a row that is `known` by its key is not made again.

    A classifier whose library is missing is reported once and left out.
    """
    for direction in DIRECTIONS:
        found = samples(table, direction, HISTORY, PRINTED)
        if not len(found):
            continue
        check_samples(found)
        mark = _mark(found)
        for kind in kinds:
            key = f"{kind} {direction} {budget.trials} {budget.seed} {mark}"
            if key in known:
                yield known[key]
                continue
            try:
                with _one_core():
                    row = _row(key, kind, found, budget)
                yield row
            except PenstockError as error:
                say(f"{kind}: left out: {error}")
                continue
            say(f"{direction}: {kind} done")


@dataclass(frozen=True, slots=True)
class _Tried:
    """One trial: its curve of calibration, and its error where trials are chosen."""

    given: Mapping[str, Any]
    score: Scorer
    predict_target: Scorer
    slope: float
    intercept: float
    error: float
    train_s: float

    def probability(self, rows: Floats) -> Floats:
        return 1.0 / (1.0 + np.exp(-np.clip(self.slope * self.score(rows) + self.intercept, -500, 500)))


def _row(key: str, kind: str, found: Samples, budget: TrialBudget) -> ClassifierScore:
    held_out = next(split_runs(found.run, 5, budget.seed))
    train = np.flatnonzero(~held_out)
    tune = next(split_runs(found.run[train], 5, budget.seed + 1))
    tried = [
        _try(kind, found, (train[~tune], train[tune]), given, budget.seed)
        for given in draws(kind, budget.trials, budget.seed)
    ]
    best = min(tried, key=lambda one: one.error)
    return ClassifierScore(
        key=key,
        kind=kind,
        direction=found.direction,
        judgement=judge(found.label[held_out], best.probability(found.vectors[held_out])),
        paper_error=PAPER[kind][found.direction],
        trials=len(tried),
        given=best.given,
        train_s=best.train_s,
        target_us=_time(best.predict_target, found),
    )


def _try(kind: str, found: Samples, parts: tuple[Ints, Ints], given: Mapping[str, Any], seed: int) -> _Tried:
    train, tune = parts
    started = time.perf_counter()
    score, predict_target = FITTERS[kind](found, train, given, seed)
    raw, label = score(found.vectors[tune]), found.label[tune]
    slope, intercept = calibrate(raw, label)
    train_s = time.perf_counter() - started
    error = float(((slope * raw + intercept >= 0) != label).mean())
    return _Tried(given, score, predict_target, slope, intercept, error, train_s)


def _time(predict_target: Scorer, found: Samples, rounds: int = 20) -> float:
    """The best time for all candidates of one target, in microseconds."""
    target = np.repeat(found.vectors[:1], CANDIDATES, axis=0)
    target[:, -found.candidate.shape[1] :] = np.resize(
        np.unique(found.candidate, axis=0), (CANDIDATES, found.candidate.shape[1])
    )
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        predict_target(target)
        times.append(time.perf_counter() - started)
    return min(times) * 1e6


def _mark(found: Samples) -> str:
    """A digest of samples and labels."""
    digest = hashlib.sha256(np.ascontiguousarray(found.vectors).tobytes())
    digest.update(np.ascontiguousarray(found.label).tobytes())
    return digest.hexdigest()[:16]


def _one_core() -> Any:
    """Limit every classifier to one core, so that times are comparable."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise require_extra("train", error) from None
    return threadpool_limits(1)
