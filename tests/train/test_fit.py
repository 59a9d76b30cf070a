from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.errors import DataError
from penstock.predict import modelfile
from penstock.predict.explain import explain
from penstock.predict.featuresets import FULL
from penstock.predict.trees import compile_forest, score_rows, scores_numba, scores_numpy
from penstock.spaces import LUSTRE
from penstock.train.apply import predictions, seen_runs
from penstock.train.boost import Boosting, boost, to_forest
from penstock.train.build import build_model
from penstock.train.calibrate import calibrate
from penstock.train.fit import Recipe, bounds, fit_all, soft_labels, split_runs
from penstock.train.fitdata import of_table, source_of
from penstock.train.judge import judge, reliability
from penstock.train.recipe import Bound, adapted, searched
from penstock.train.samples import samples
from penstock.train.table import NUMBERS, TraceTable

SMALL = Boosting(rounds=20, num_leaves=7)
RECIPE = Recipe(history={"read": 1, "write": 2}, boosting={"read": SMALL, "write": SMALL}, folds=2)


def quiet(_: str) -> None:
    """Progress for nobody."""


def test_trees_equal_lightgbm_with_and_without_missing_values(table: TraceTable) -> None:
    found = samples(table, "write", 2)
    booster = boost(found.vectors, soft_labels(found), replace(SMALL, rounds=60))
    forest = to_forest(booster)
    rows = found.vectors[:200].copy()
    rows[::3, ::5] = np.nan
    assert np.abs(booster.predict(rows, raw_score=True) - score_rows(forest, rows)).max() < 1e-9
    grid = FULL.candidate_matrix(LUSTRE.candidates())
    past = np.ascontiguousarray(rows[:9, :-3])
    full = np.hstack([np.repeat(past, 99, axis=0), np.tile(grid, (9, 1))])
    theirs = booster.predict(full, raw_score=True).reshape(9, 99)
    compiled = compile_forest(forest, grid)
    assert np.abs(scores_numpy(compiled, past) - theirs).max() < 1e-9
    assert np.abs(scores_numba(compiled, past) - theirs).max() < 1e-9


def test_contributions_equal_lightgbms(table: TraceTable) -> None:
    found = samples(table, "read", 1)
    booster = boost(found.vectors, soft_labels(found), SMALL)
    theirs = booster.predict(found.vectors[:3], pred_contrib=True)
    for row, expected in zip(found.vectors[:3], theirs, strict=True):
        why = explain(to_forest(booster), row)
        assert np.abs(why.contributions - expected[:-1]).max() < 1e-9
        assert why.base == pytest.approx(expected[-1], abs=1e-9)


def test_fit_finds_what_there_is_and_repeats_exactly(table: TraceTable) -> None:
    fits = list(fit_all(table, RECIPE, quiet))
    assert {fit.part.direction: fit.part.history for fit in fits} == {"read": 1, "write": 2}
    for fit in fits:
        assert fit.judgement.error < fit.judgement.trivial_error / 2
        assert fit.part.metrics["held_out_error"] == fit.judgement.error
    model = build_model(fits, source_of(table), RECIPE, "made up")
    again = build_model(list(fit_all(table, RECIPE, quiet)), source_of(table), RECIPE, "made up")
    assert modelfile.dump(model) == modelfile.dump(again)


def test_model_is_judged_and_knows_what_it_has_seen(table: TraceTable) -> None:
    early, late = table.take(table.iteration < 3), table.take(table.iteration >= 3)
    model = build_model(list(fit_all(early, RECIPE, quiet)), source_of(early), RECIPE, "made up")
    assert seen_runs(model, late) == []
    assert seen_runs(model, table) == [
        "seq_r_1_io_1m/1", "seq_r_1_io_1m/2", "seq_w_1_io_1m/1", "seq_w_1_io_1m/2",
    ]  # fmt: skip
    for item in predictions(model, late):
        if item.found.direction == "read":
            judged = judge(item.found.label, item.p)
            assert judged.error < judged.trivial_error
        forest = model[item.found.direction].forest
        plain = forest.probability(score_rows(forest, item.found.vectors))
        assert np.abs(item.p - plain).max() < 1e-9


def test_runs_are_never_split() -> None:
    run = np.repeat(np.arange(7), 11)
    seen = np.zeros(len(run), dtype=int)
    for held_out in split_runs(run, 3, seed=5):
        assert not set(run[held_out]) & set(run[~held_out])
        seen += held_out
    assert (seen == 1).all()


def test_one_run_cannot_be_judged(table: TraceTable) -> None:
    with pytest.raises(DataError, match="one run"):
        list(fit_all(table.take(table.iteration == 1), RECIPE, quiet))


def test_one_class_teaches_nothing(table: TraceTable) -> None:
    values = table.values.copy()
    values[:, NUMBERS.index("read_bytes")] = 1e6
    values[:, NUMBERS.index("seconds")] = 0.5
    with pytest.raises(DataError, match=r"all \d+ samples are negative"):
        list(fit_all(replace(table, values=values), RECIPE, quiet))


def test_no_samples_at_all_is_an_error(table: TraceTable) -> None:
    values = np.zeros_like(table.values)
    with pytest.raises(DataError, match="no sample"):
        list(fit_all(replace(table, values=values), RECIPE, quiet))


def test_a_direction_without_samples_is_left_out(table: TraceTable) -> None:
    said: list[str] = []
    reading = table.take(table.workload == "seq_r_1_io_1m")
    assert [fit.part.direction for fit in fit_all(reading, RECIPE, said.append)] == ["read"]
    assert any("write: no samples" in line for line in said)


def test_search_is_bounded_and_never_worse_than_its_start(table: TraceTable) -> None:
    said: list[str] = []
    start = adapted(Recipe(), 3, 0, 5, 7)
    recipe = searched(start, of_table(table, start).found.values(), Bound(2, 60.0), said.append)
    assert recipe.history == {"read": 0, "write": 0}
    assert len([line for line in said if "trial" in line]) == 4
    assert recipe.boosting["read"].seed == 3
    assert recipe.boosting["read"].rounds == 5


def test_calibration_recovers_a_known_curve() -> None:
    rng = np.random.default_rng(0)
    score = rng.normal(0, 3, 20_000)
    label = rng.random(20_000) < 1 / (1 + np.exp(-(0.5 * score - 1)))
    slope, intercept = calibrate(score, label)
    assert slope == pytest.approx(0.5, abs=0.03)
    assert intercept == pytest.approx(-1, abs=0.06)


def test_calibration_stays_finite_where_classes_separate() -> None:
    slope, intercept = calibrate(np.array([-1.0, -2.0, 1.0, 2.0]), np.array([False, False, True, True]))
    assert slope > 0 and np.isfinite(intercept)
    assert calibrate(np.array([1.0, 2.0, -1.0]), np.array([False, False, True])) == (1.0, 0.0)


def test_judgement_of_known_probabilities() -> None:
    label = np.array([True, True, False, False, True])
    p = np.array([0.9, 0.6, 0.85, 0.1, 0.2])
    found = judge(label, p)
    assert (found.error, found.trivial_error) == (0.4, 0.4)
    assert (found.precision_at_tau, found.recall_at_tau) == (0.5, 1 / 3)
    assert found.auc == pytest.approx(4 / 6)
    nobody = judge(np.array([False]), np.array([0.1]))
    assert (nobody.precision_at_tau, nobody.recall_at_tau, nobody.auc) == (None, None, None)


def test_reliability_counts_every_sample_once() -> None:
    p = np.array([0.0, 0.05, 0.55, 1.0])
    curve = reliability(np.array([False, False, True, True]), p)
    assert [count for _, _, count in curve] == [2, 1, 1]


def test_bounds_ignore_the_unknown() -> None:
    low, high = bounds(np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan]]))
    assert (low[0], high[0]) == (1.0, 3.0)
    assert low[1] < -1e9 and high[1] > 1e9
