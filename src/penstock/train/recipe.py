"""Chooses how to fit: by default the study's result, or a bounded search on request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.errors import require_extra
from penstock.train.boost import Boosting
from penstock.train.calibrate import calibrate
from penstock.train.fit import Progress, Recipe, check_samples, grow, soft_labels, split_runs
from penstock.train.samples import Samples
from penstock.window import DIRECTIONS

SEARCH_FOLDS = 3


@dataclass(frozen=True, slots=True)
class Bound:
    """The limits of a search for one direction. The first that is reached ends it."""

    trials: int
    seconds: float


def adapted(recipe: Recipe, seed: int, history: int | None, rounds: int | None, leaves: int | None) -> Recipe:
    """A recipe with another seed and, if given, another history and number of trees.

    Fewer trees get a higher learning rate, so that they learn as much in total.
    """
    boosting = {}
    for name, how in recipe.boosting.items():
        count = rounds or how.rounds
        rate = min(0.3, how.learning_rate * how.rounds / count)
        boosting[name] = replace(
            how, seed=seed, rounds=count, learning_rate=rate, num_leaves=leaves or how.num_leaves
        )
    histories = recipe.history if history is None else dict.fromkeys(DIRECTIONS, history)
    return replace(recipe, boosting=boosting, history=histories)


def searched(recipe: Recipe, drawn: Iterable[Samples], search: Bound, say: Progress) -> Recipe:
    """A recipe whose tree parameters were searched for on these samples."""
    boosting = dict(recipe.boosting)
    for found in drawn:
        if len(found):
            check_samples(found)
            boosting[found.direction] = search_boosting(found, boosting[found.direction], search, say)
    return replace(recipe, boosting=boosting)


def search_boosting(found: Samples, start: Boosting, bound: Bound, say: Progress) -> Boosting:
    """The best parameters by held-out log loss.

    The starting parameters are the first trial, so the result is never worse.
    """
    try:
        import optuna
    except ImportError as error:
        raise require_extra("train", error) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: Any) -> float:
        how = replace(start, **_suggest(trial))
        loss = held_out_loss(found, how)
        say(f"{found.direction}: trial {trial.number + 1} of {bound.trials}: log loss {loss:.4f}")
        return loss

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=start.seed))
    names = ("learning_rate", "num_leaves", "min_data_in_leaf", "feature_fraction", "lambda_l2")
    study.enqueue_trial({name: getattr(start, name) for name in names})
    study.optimize(objective, n_trials=bound.trials, timeout=bound.seconds)
    return replace(start, **study.best_params)


def held_out_loss(found: Samples, how: Boosting) -> float:
    """The mean log loss over runs that were held out, after calibration."""
    vectors, target = found.vectors, soft_labels(found)
    raw = np.empty(len(found))
    for held_out in split_runs(found.run, SEARCH_FOLDS, how.seed):
        raw[held_out] = grow(vectors[~held_out], target[~held_out], how, vectors[held_out])
    slope, intercept = calibrate(raw, found.label)
    margin = np.where(found.label, 1.0, -1.0) * (slope * raw + intercept)
    return float(np.logaddexp(0.0, -margin).mean())


def _suggest(trial: Any) -> dict[str, Any]:
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.02, 0.3, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 4, 127, log=True),
        "min_data_in_leaf": trial.suggest_int("min_data_in_leaf", 10, 200, log=True),
        "feature_fraction": trial.suggest_float("feature_fraction", 0.2, 1.0),
        "lambda_l2": trial.suggest_float("lambda_l2", 0.01, 30.0, log=True),
    }
