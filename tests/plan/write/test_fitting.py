"""Fitting, searching and storing models, on a small synthetic campaign."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.write_time_study import figures, study
from benchmarks.write_time_study.campaign import TEST_SCALES, Campaign, WritePath, allocate, measure_campaign
from benchmarks.write_time_study.tables import set_masks

from penstock.errors import DataError, MissingError, ModelFileError, UsageError
from penstock.plan.storage import Service, StorageSystem, load_system
from penstock.plan.write.accuracy import measure
from penstock.plan.write.contributions import linear_terms
from penstock.plan.write.fitted import FittedModel, fit_model
from penstock.plan.write.folds import log_errors
from penstock.plan.write.location import in_use, locate
from penstock.plan.write.pattern import WritePattern
from penstock.plan.write.published import published_model
from penstock.plan.write.scale_search import refit, scale_subsets, search, split_validation
from penstock.plan.write.stored_model import dump_model, load_model, parse_model
from penstock.plan.write.techniques import COMPARED, DEFAULTS, TECHNIQUES, check_technique
from penstock.plan.write.write_samples import WriteSamples

pytest.importorskip("sklearn")


STACK = pytest.param("stack", marks=pytest.mark.slow)
EVERY = [STACK if name == "stack" else name for name in TECHNIQUES]


@pytest.fixture(scope="session")
def samples(campaign: Campaign) -> WriteSamples:
    return campaign.samples.take(campaign.samples.converged)


def fitted(technique: str, samples: WriteSamples) -> FittedModel:
    return fit_model("test", technique, DEFAULTS[technique], samples)


@pytest.mark.parametrize("technique", EVERY)
def test_every_technique_predicts_its_training_data(technique: str, samples: WriteSamples) -> None:
    found = measure(fitted(technique, samples).predict_samples(samples), samples.seconds)
    assert found.mse < np.var(samples.seconds)


@pytest.mark.parametrize("technique", EVERY)
def test_contributions_of_every_technique_sum_to_seconds(
    technique: str, samples: WriteSamples, campaign: Campaign
) -> None:
    said = fitted(technique, samples).predict(samples.system, campaign.patterns[3])
    assert sum(said.contributions.values()) == pytest.approx(said.seconds, rel=1e-9)
    assert set(said.contributions) - {"intercept"} <= set(said.features)
    assert len(said.contributions) > 1


@pytest.mark.parametrize("technique", COMPARED)
def test_contributions_need_no_correction(technique: str, samples: WriteSamples) -> None:
    """The shares are a true decomposition: closing the sum only absorbs rounding."""
    from penstock.plan.write import contributions

    model = fitted(technique, samples)
    row = samples.matrix(model.features)[5]
    shares = contributions.split(technique, model.pipeline, model.features, row)
    assert sum(shares.values()) == pytest.approx(float(model.pipeline.predict(row[None, :])[0]), rel=1e-6)


@pytest.mark.parametrize("technique", [*COMPARED, STACK])
def test_model_file_round_trip_predicts_the_same(
    technique: str, samples: WriteSamples, tmp_path: Path
) -> None:
    model = fitted(technique, samples)
    path = tmp_path / "model.json"
    path.write_text(dump_model(model))
    again = load_model(path)
    assert again.technique == technique
    assert again.predict_samples(samples) == pytest.approx(model.predict_samples(samples), rel=1e-9)


def test_model_flags_what_it_has_not_seen(samples: WriteSamples) -> None:
    model = fitted("lasso", samples)
    titan = samples.system
    far = model.predict(titan, WritePattern(locate(titan, 2000, "compact"), 16, 20 << 30, 64))
    assert {"m", "K"} <= {entry.name for entry in far.outside}
    other = model.predict(load_system("titan"), WritePattern(locate(titan, 32, "compact"), 8, 10**9, 4))
    assert other.notes == ()


def _text(samples: WriteSamples, **changes: Any) -> str:
    from penstock.plan.write.stored_model import model_digest

    body = json.loads(dump_model(fitted("lasso", samples)))
    body.update(changes)
    body = {key: value for key, value in body.items() if value is not None}
    body["sha256"] = model_digest(body)
    return json.dumps(body)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"technique": "laso"}, 'did you mean "lasso"'),
        ({"technique": None}, "'technique' is missing"),
        ({"parameters": {"alpha": -1}}, "parameter alpha -1"),
        ({"parameters": {"alpah": 1}}, 'did you mean "alpha"'),
        ({"parameters": [1]}, "'parameters' is not a table"),
        ({"version": 9}, "version 9"),
        ({"features": ["m"]}, "features are not the ones"),
        ({"seconds": [1.0]}, "differ in length"),
        ({"seconds": ["x"]}, "'seconds' is not a list of numbers"),
        ({"columns": {"m": [1.0]}}, "does not hold exactly"),
        ({"system": {"name": "x"}}, "system"),
        ({"format": "other"}, "not a write-time model"),
        ({"spreads": {"inside": {"low": 1, "high": 0, "measured": None}}}, "'spreads.inside'"),
        ({"spreads": {"ideas": {"ideas": [{"rate": "node"}]}}}, "'spreads.ideas.ideas.0.share'"),
        ({"spreads": {"ideas": {"ideas": []}}}, "'spreads.ideas'"),
        ({"operation": "append"}, "'operation' is not write or read"),
    ],
)
def test_model_file_refuses_what_is_wrong(
    samples: WriteSamples, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelFileError, match="mine") as refusal:
        parse_model(_text(samples, **changes), "mine")
    assert message in str(refusal.value)


def test_model_file_refuses_damage(samples: WriteSamples, tmp_path: Path) -> None:
    good = dump_model(fitted("lasso", samples))
    for bad in (good[:-40], good.replace('"lasso"', '"ridge"'), "[]", "", good.replace("[", "[NaN,", 1)):
        with pytest.raises(ModelFileError):
            parse_model(bad, "bad")
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps({"a": np.arange(3)}))
    with pytest.raises(ModelFileError, match="not UTF-8"):
        load_model(path)
    with pytest.raises(MissingError):
        load_model(tmp_path / "gone")
    with pytest.raises(ModelFileError, match=r"directory"):
        load_model(tmp_path)


def test_scale_subsets_of_eight_are_255() -> None:
    subsets = list(scale_subsets((1, 2, 4, 8, 16, 32, 64, 128)))
    assert len(subsets) == len(set(subsets)) == 255


def test_validation_holds_out_a_fifth_of_every_scale(samples: WriteSamples) -> None:
    held = split_validation(samples, seed=1)
    for scale in samples.scales:
        at_scale = samples.nodes == scale
        assert held[at_scale].sum() == round(0.2 * at_scale.sum())
    assert (held == split_validation(samples, seed=1)).all()
    assert (held != split_validation(samples, seed=2)).any()


def test_search_best_is_never_worse_than_base_on_validation(samples: WriteSamples) -> None:
    ticks: list[int] = []
    found = search(samples, "lasso", tick=lambda: ticks.append(1))
    assert len(found.trials) == len(ticks) == 7
    assert found.best.error <= found.base.error
    assert found.base.scales == (16, 32, 64)


def test_refit_sees_no_held_out_sample(samples: WriteSamples) -> None:
    found = search(samples, "ridge", seed=3)
    model = refit(samples, found.best, seed=3)
    held = samples.take(split_validation(samples, seed=3))
    assert not set(model.samples.seconds) & set(held.seconds)
    error = log_errors(model.predict_samples(held), held.seconds)
    assert float(np.mean(np.abs(error))) == pytest.approx(found.best.error, rel=1e-6)


def test_forest_is_fitted_without_a_warning(samples: WriteSamples, recwarn: pytest.WarningsRecorder) -> None:
    fit_model("forest", "forest", DEFAULTS["forest"], samples)
    assert not [str(one.message) for one in recwarn.list]


def test_fit_refuses_too_few_samples(samples: WriteSamples) -> None:
    few = samples.take(np.arange(len(samples)) < 3)
    with pytest.raises(DataError, match="3 samples"):
        fitted("lasso", few)
    with pytest.raises(DataError, match="too few"):
        search(few, "lasso")


def test_check_technique_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match='did you mean "forest"'):
        check_technique("forrest")


def _only_slow(system: StorageSystem, router: float, target: float) -> StorageSystem:
    service = Service(
        node_bytes_per_s=1e12,
        network_bytes_per_s=1e14,
        server_bytes_per_s=1e12,
        target_bytes_per_s=target,
        stage_bytes_per_s={"router": router},
        interference=0.05,
    )
    return system.model_copy(update={"service": service})


@pytest.mark.parametrize(
    ("router", "target", "symbol"), [(5e8, 1e11, "s_r"), (1e12, 2e7, "s_ost")], ids=["router", "target"]
)
def test_lasso_finds_the_planted_bottleneck(router: float, target: float, symbol: str) -> None:
    path = WritePath(_only_slow(load_system("titan"), router, target))
    found = measure_campaign(path, (8, 16, 32, 64), 25, seed=5).samples
    settled = found.take(found.converged)
    model = fitted("lasso", settled)
    _, slopes = linear_terms(model.pipeline)
    shares = np.abs(slopes * settled.matrix(model.features)).mean(axis=0)
    assert symbol in model.features[int(shares.argmax())]


def test_lasso_extrapolates_a_synthetic_campaign() -> None:
    """Self-consistency: trained on up to 128 nodes, right to 30 % on most writes of 200 to 2,000 nodes."""
    path = WritePath(load_system("titan"))
    training = measure_campaign(path, (16, 32, 64, 128), 60, seed=1).samples
    test = measure_campaign(path, TEST_SCALES, 6, seed=2).samples
    model = fitted("lasso", training.take(training.converged))
    settled = test.take(test.converged)
    assert measure(model.predict_samples(settled), settled.seconds).within_30 > 0.6
    assert {name: bool(mask.any()) for name, mask in set_masks(test).items()}["large"]


def test_campaign_same_seed_same_samples() -> None:
    path = WritePath(load_system("cetus"))
    first, second = (measure_campaign(path, (4, 8), 6, seed=9) for _ in range(2))
    assert first.samples.seconds.tolist() == second.samples.seconds.tolist()
    assert all(len(run.times_s) >= 3 for run in first.runs)


def test_campaign_skewed_jobs_take_longer() -> None:
    titan = load_system("titan")
    path, rng = WritePath(titan), np.random.default_rng(0)
    compact = WritePattern(locate(titan, 128, "compact"), 8, 10**9, 4)
    scattered = WritePattern(locate(titan, 128, "scattered"), 8, 10**9, 4)
    assert path.mean(compact, 20, rng) > 2 * path.mean(scattered, 20, rng)


def test_allocate_gives_distinct_nodes_of_the_machine() -> None:
    titan, rng = load_system("titan"), np.random.default_rng(2)
    skews = set()
    for nodes in (1, 2, 64, 2000):
        placed = allocate(titan, nodes, rng)
        assert np.unique(placed).size == placed.size == nodes
        assert 0 <= placed.min() <= placed.max() < titan.compute.nodes
        skews.add(in_use(titan, "router", placed)[1])
    assert len(skews) > 1


def test_search_as_printed_tunes_nothing_and_compares_mean_square_errors(samples: WriteSamples) -> None:
    found = search(samples, "lasso", printed=True)
    assert dict(found.best.given) == {"alpha": 0.01}
    held = split_validation(samples, 0)
    said = refit(samples, found.best).predict_samples(samples.take(held))
    assert found.best.error == pytest.approx(measure(said, samples.seconds[held]).mse)
    assert found.best.error <= found.base.error
    assert len(found.trials) >= len(search(samples, "lasso").trials)


def test_figure_seven_counts_moving_apart() -> None:
    found = figures.figure_seven("titan", 2, 1)
    assert found["samples"] == 2 * len(TEST_SCALES)
    assert 0 < found["with_moves"] <= found["as_printed"] <= 100
    assert figures.figure_seven("titan", 2, 1) == found


@pytest.mark.slow
def test_study_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size, wanted = study.StudySize(6, 3, 5), {"printed": ("linear", "lasso")}
    said: list[str] = []
    first = study.run_study("titan", size, {"printed": ("linear",)}, tmp_path, said.append)
    whole = study.run_study("titan", size, wanted, tmp_path, said.append)
    assert [line.split(": ")[1] for line in said if "done" in line] == [
        "printed linear done",
        "printed lasso done",
    ]
    assert whole.chosen["printed", "linear"] == first.chosen["printed", "linear"]
    monkeypatch.setattr(study, "search", None)
    again = study.run_study("titan", size, wanted, tmp_path, said.append)
    assert again.chosen == whole.chosen
    rows = figures.adaptation(again, {"published": published_model(again.system)})
    assert len(rows["published"]["predicted"]) == sum(run.converged for run in again.test.runs)
    assert 0 <= figures.above(rows["published"]["predicted"], "titan") <= 100
