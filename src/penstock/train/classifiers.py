"""The classifiers of CARAT's Table IV and what a search may change of each.

A fitter trains on the given rows and returns two functions: scores of any rows, and the work of scoring all
candidates of one target, which is timed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.errors import require_extra
from penstock.predict.trees import compile_forest, scores
from penstock.predict.trees.forest import Floats
from penstock.train.boost import boost, to_forest
from penstock.train.fit import BOOSTING
from penstock.train.samples import Samples

SVM_SAMPLES = 10_000

Given = Mapping[str, Any]
Rows = np.ndarray[Any, Any]
Scorer = Callable[[Floats], Floats]
Fitter = Callable[[Samples, Rows, Given, int], tuple[Scorer, Scorer]]

#: What may be drawn, by kind. The first value of each parameter makes the first trial.
SPACES: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "svm": {"C": (10.0, 1.0, 30.0, 100.0), "gamma": ("scale", 0.03, 0.1, 0.3)},
    "fc-nn": {
        "layers": ((64, 64), (32,), (128, 64), (64, 64, 64)),
        "alpha": (1e-4, 1e-5, 1e-3, 1e-2),
        "learning_rate": (1e-3, 3e-3, 5e-4),
    },
    "rnn": {"width": (48, 24, 96), "learning_rate": (2e-3, 5e-4, 5e-3), "epochs": (15, 8, 25)},
    "tcn": {"width": (48, 24, 96), "learning_rate": (2e-3, 5e-4, 5e-3), "epochs": (15, 8, 25)},
    "gbdt": {
        "num_leaves": (63, 15, 31, 127),
        "learning_rate": (0.05, 0.02, 0.1),
        "min_data_in_leaf": (20, 40, 100),
        "feature_fraction": (0.8, 0.5, 1.0),
        "rounds": (200, 300),
    },
}


def draws(kind: str, trials: int, seed: int) -> list[dict[str, Any]]:
    """So many parameter sets of a kind, none twice; the first is the usual one.

    >>> draws("svm", 2, 0)[0]
    {'C': 10.0, 'gamma': 'scale'}
    """
    space = SPACES[kind]
    rng = np.random.default_rng(seed)
    found = [{name: values[0] for name, values in space.items()}]
    most = int(np.prod([len(values) for values in space.values()]))
    while len(found) < min(trials, most):
        drawn = {name: values[rng.integers(len(values))] for name, values in space.items()}
        if drawn not in found:
            found.append(drawn)
    return found


def _gbdt(found: Samples, train: Rows, given: Given, seed: int) -> tuple[Scorer, Scorer]:
    vectors = found.vectors
    how = replace(BOOSTING[found.direction], seed=seed, **given)
    booster = boost(vectors[train], found.label[train].astype(np.float64), how)
    compiled = compile_forest(to_forest(booster), np.unique(found.candidate, axis=0))
    past = found.past[:1]
    return lambda rows: np.asarray(booster.predict(rows, raw_score=True, num_threads=1)), lambda _: scores(
        compiled, past
    )


def _svm(found: Samples, train: Rows, given: Given, seed: int) -> tuple[Scorer, Scorer]:
    chosen = np.random.default_rng(seed).permutation(train)[:SVM_SAMPLES]
    pipeline = _pipeline(_sklearn("svm").SVC(**given))
    pipeline.fit(found.vectors[chosen], found.label[chosen])
    return pipeline.decision_function, pipeline.decision_function


def _net(found: Samples, train: Rows, given: Given, seed: int) -> tuple[Scorer, Scorer]:
    net = _sklearn("neural_network").MLPClassifier(
        given["layers"],
        alpha=given["alpha"],
        learning_rate_init=given["learning_rate"],
        early_stopping=True,
        max_iter=60,
        batch_size=512,
        random_state=seed,
    )
    pipeline = _pipeline(net)
    with warnings.catch_warnings():
        # A trial that reaches its number of epochs is judged as it is.
        warnings.simplefilter("ignore", _sklearn("exceptions").ConvergenceWarning)
        pipeline.fit(found.vectors[train], found.label[train])

    def score(rows: Floats) -> Floats:
        p = np.clip(pipeline.predict_proba(rows)[:, 1], 1e-9, 1 - 1e-9)
        return np.asarray(np.log(p / (1 - p)))

    return score, score


def _rnn(found: Samples, train: Rows, given: Given, seed: int) -> tuple[Scorer, Scorer]:
    from penstock.train.nets import fit_sequence

    return fit_sequence("rnn", found, train, given, seed)


def _tcn(found: Samples, train: Rows, given: Given, seed: int) -> tuple[Scorer, Scorer]:
    from penstock.train.nets import fit_sequence

    return fit_sequence("tcn", found, train, given, seed)


def _pipeline(last: Any) -> Any:
    impute, scale = _sklearn("impute").SimpleImputer(), _sklearn("preprocessing").StandardScaler()
    return _sklearn("pipeline").make_pipeline(impute, scale, last)


def _sklearn(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"sklearn.{module}")
    except ImportError as error:
        raise require_extra("train", error) from None


FITTERS: Mapping[str, Fitter] = {"svm": _svm, "fc-nn": _net, "rnn": _rnn, "tcn": _tcn, "gbdt": _gbdt}
