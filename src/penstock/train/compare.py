"""CARAT's Table IV on real measurements: several classifiers on the same samples and the same split.

Every classifier sees one interval of history (`carat`'s k = 1). It is trained on 80 % of the iterations and judged on
the rest. Classifiers without probabilities are calibrated like ours, on a fifth of their training iterations that
they did not train on. RNN and TCN need the extra `[nets]` and are left out without it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.errors import PenstockError, require_extra
from penstock.predict.trees import compile_forest, scores
from penstock.predict.trees.forest import Floats
from penstock.train.boost import boost, to_forest
from penstock.train.calibrate import calibrate
from penstock.train.fit import BOOSTING, Progress, check_samples, soft_labels, split_runs
from penstock.train.judge import Judgement, Labels, judge
from penstock.train.samples import Samples, samples
from penstock.train.table import TraceTable
from penstock.window import DIRECTIONS

HISTORY = 1
SVM_SAMPLES = 10_000
CANDIDATES = 99

# CARAT, Table IV: error (1 - accuracy) of read and write models.
PAPER = {
    "svm": {"read": 0.23, "write": 0.25},
    "fc-nn": {"read": 0.11, "write": 0.21},
    "rnn": {"read": 0.17, "write": 0.23},
    "tcn": {"read": 0.11, "write": 0.28},
    "gbdt": {"read": 0.04, "write": 0.12},
}
Scorer = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class ClassifierScore:
    """The result of one classifier for one direction. `target_us` is the time for all 99 candidates of a target."""

    kind: str
    direction: str
    judgement: Judgement
    paper_error: float
    train_s: float
    target_us: float


def compare(table: TraceTable, kinds: tuple[str, ...], seed: int, say: Progress) -> Iterator[ClassifierScore]:
    """One row per classifier and direction. A classifier whose library is missing is reported once and left out."""
    for direction in DIRECTIONS:
        found = samples(table, direction, HISTORY)
        if not len(found):
            continue
        check_samples(found)
        held_out = next(split_runs(found.run, 5, seed))
        for kind in kinds:
            try:
                with _one_core():
                    row = _row(kind, found, held_out, seed)
                yield row
            except PenstockError as error:
                say(f"{kind}: left out: {error}")
                continue
            say(f"{direction}: {kind} done")


def _row(kind: str, found: Samples, held_out: Labels, seed: int) -> ClassifierScore:
    vectors, train = found.vectors, np.flatnonzero(~held_out)
    tune = next(split_runs(found.run[train], 5, seed + 1))
    started = time.perf_counter()
    score, predict_target = FITTERS[kind](found, train[~tune], seed)
    slope, intercept = calibrate(score(vectors[train[tune]]), found.label[train[tune]])
    train_s = time.perf_counter() - started
    p = 1.0 / (1.0 + np.exp(-np.clip(slope * score(vectors[held_out]) + intercept, -500, 500)))
    verdict = judge(found.label[held_out], p)
    return ClassifierScore(
        kind, found.direction, verdict, PAPER[kind][found.direction], train_s, _time(predict_target, found)
    )


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


def _fit_gbdt(found: Samples, train: np.ndarray[Any, Any], seed: int) -> tuple[Scorer, Scorer]:
    vectors = found.vectors
    booster = boost(vectors[train], soft_labels(found)[train], replace(BOOSTING[found.direction], seed=seed))
    compiled = compile_forest(to_forest(booster), np.unique(found.candidate, axis=0))
    past = found.past[:1]
    return lambda rows: np.asarray(booster.predict(rows, raw_score=True, num_threads=1)), lambda _: scores(
        compiled, past
    )


def _fit_svm(found: Samples, train: np.ndarray[Any, Any], seed: int) -> tuple[Scorer, Scorer]:
    chosen = np.random.default_rng(seed).permutation(train)[:SVM_SAMPLES]
    pipeline = _pipeline(_sklearn("svm").SVC(C=10.0))
    pipeline.fit(found.vectors[chosen], found.label[chosen])
    return pipeline.decision_function, pipeline.decision_function


def _fit_net(found: Samples, train: np.ndarray[Any, Any], seed: int) -> tuple[Scorer, Scorer]:
    net = _sklearn("neural_network").MLPClassifier(
        (64, 64), early_stopping=True, max_iter=60, batch_size=512, random_state=seed
    )
    pipeline = _pipeline(net)
    pipeline.fit(found.vectors[train], found.label[train])

    def score(rows: Floats) -> Floats:
        p = np.clip(pipeline.predict_proba(rows)[:, 1], 1e-9, 1 - 1e-9)
        return np.asarray(np.log(p / (1 - p)))

    return score, score


def _fit_rnn(found: Samples, train: np.ndarray[Any, Any], seed: int) -> tuple[Scorer, Scorer]:
    from penstock.train.nets import fit_sequence

    return fit_sequence("rnn", found, train, HISTORY, seed)


def _fit_tcn(found: Samples, train: np.ndarray[Any, Any], seed: int) -> tuple[Scorer, Scorer]:
    from penstock.train.nets import fit_sequence

    return fit_sequence("tcn", found, train, HISTORY, seed)


def _one_core() -> Any:
    """Limit every classifier to one core, so that times are comparable."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise require_extra("train", error) from None
    return threadpool_limits(1)


def _pipeline(last: Any) -> Any:
    impute, scale = _sklearn("impute").SimpleImputer(), _sklearn("preprocessing").StandardScaler()
    return _sklearn("pipeline").make_pipeline(impute, scale, last)


def _sklearn(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"sklearn.{module}")
    except ImportError as error:
        raise require_extra("train", error) from None


FITTERS: dict[str, Callable[[Samples, np.ndarray[Any, Any], int], tuple[Scorer, Scorer]]] = {
    "svm": _fit_svm,
    "fc-nn": _fit_net,
    "rnn": _fit_rnn,
    "tcn": _fit_tcn,
    "gbdt": _fit_gbdt,
}
