"""The stack of rates, and the folds that judge it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from penstock.plan.storage import flat_system
from penstock.plan.write.fitted import Spreads, fit_model
from penstock.plan.write.fitting import growth_doubt, judge, model_of
from penstock.plan.write.folds import Spread, extrapolation_folds, grouped_folds, log_errors, spread_of
from penstock.plan.write.idea_spread import idea_spread
from penstock.plan.write.location import locate
from penstock.plan.write.pattern import WritePattern
from penstock.plan.write.scale_search import search
from penstock.plan.write.stacked import MEMBERS, RATES, one_growth, robust_weights
from penstock.plan.write.stored_model import dump_model, parse_model
from penstock.plan.write.support import Support, support_of
from penstock.plan.write.write_samples import WriteSamples, tabulate

pytest.importorskip("sklearn")


def measured(seconds_of: str) -> WriteSamples:
    """Nodes that each keep their rate, or that share one; small calls cost more."""
    system = flat_system("flat", 64, 64)
    rng = np.random.default_rng(3)
    patterns = [
        WritePattern(locate(system, nodes, "compact"), cores, burst << 20, 1, transfer << 10)
        for nodes in (1, 2, 4, 8, 16, 32)
        for cores in (1, 4, 16)
        for burst in (64, 300, 1000)
        for transfer in (4, 1024)
    ]
    load = [one.cores * one.burst_bytes if seconds_of == "node" else one.total_bytes for one in patterns]
    calls = [1 + 3 * (one.call_bytes < 1 << 20) for one in patterns]
    times = np.array(load) / 1e9 * np.array(calls) * np.exp(rng.normal(0, 0.03, len(patterns)))
    return tabulate(system, patterns, times, np.ones(len(patterns), dtype=np.bool_))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["node", "job"])
def test_stack_learns_which_rate_holds_at_larger_scales(kind: str) -> None:
    samples = measured(kind)
    small, large = samples.take(samples.nodes <= 8), samples.take(samples.nodes > 8)
    model = fit_model("stack", "stack", {}, small)
    errors = np.abs(log_errors(model.predict_samples(large), large.seconds))
    assert np.mean(errors < np.log(1.2)) > 0.9
    beyond = {name: weight for name, weight in model.given.items() if name.startswith("beyond:")}
    assert sum(beyond.values()) == pytest.approx(1)


def test_grouped_folds_keep_a_pattern_together() -> None:
    samples = measured("node")
    folds = grouped_folds(samples.shapes)
    assert sum(fold.test.sum() for fold in folds) == len(samples)
    for fold in folds:
        tested = {tuple(row) for row in samples.shapes[fold.test]}
        assert not tested & {tuple(row) for row in samples.shapes[fold.train]}


def test_extrapolation_folds_ask_about_larger_scales_only() -> None:
    samples = measured("node")
    folds = extrapolation_folds(samples.nodes)
    assert len(folds) == 5
    for fold in folds:
        assert samples.nodes[fold.train].max() < samples.nodes[fold.test].min()


def test_robust_weights_prefer_the_member_without_error() -> None:
    errors = np.random.default_rng(0).normal(0.5, 0.5, (50, len(MEMBERS)))
    errors[:, 4] = 0.01
    weights = robust_weights(errors)
    assert weights.argmax() == 4
    assert weights.sum() == pytest.approx(1)


def test_spread_holds_its_share_of_what_it_did_not_see() -> None:
    rng = np.random.default_rng(1)
    spread = spread_of([rng.normal(0, 0.2, 400) for _ in range(5)])
    assert spread is not None
    assert spread.measured == pytest.approx(0.8, abs=0.05)
    assert spread.high == pytest.approx(0.2 * 1.2816, rel=0.15)


def _errors(rng: np.random.Generator, off: dict[str, float], count: int = 40) -> npt.NDArray[np.float64]:
    """A fold's errors by member: a rate's own offset, with a little noise."""
    return np.column_stack([rng.normal(off[name.split("/")[0]], 0.05, count) for name in MEMBERS])


def test_beyond_the_scales_one_growth_is_chosen_and_not_blended() -> None:
    """Two ideas that err in opposite directions cancel on these folds, and would not on the next."""
    rng = np.random.default_rng(2)
    folds = [_errors(rng, {"seconds": 0.8, "job": 0.9, "node": -0.1, "process": 0.7}) for _ in range(3)]
    weights = one_growth(folds)
    assert {name.split("/")[0] for name, weight in zip(MEMBERS, weights, strict=True) if weight} == {"node"}
    assert weights.sum() == pytest.approx(1)
    blended = robust_weights(np.vstack(folds))
    assert len({name.split("/")[0] for name, weight in zip(MEMBERS, blended, strict=True) if weight}) > 1


def test_ideas_of_the_same_growth_are_blended_by_how_near_they_were() -> None:
    """A rate of a node and one of a process both say that more nodes take no longer; the job's says otherwise."""
    rng = np.random.default_rng(3)
    folds = [_errors(rng, {"seconds": 0.9, "job": 0.1, "node": 0.05, "process": 0.05}) for _ in range(3)]
    weights = dict(zip(MEMBERS, one_growth(folds), strict=True))
    share = {rate: sum(weight for name, weight in weights.items() if name.startswith(rate)) for rate in RATES}
    assert share["node"] == pytest.approx(share["process"], abs=0.15)
    assert share["node"] > 0.3
    assert share["job"] == 0
    assert sum(share.values()) == pytest.approx(1)


def test_forecast_is_what_its_interval_is_built_around() -> None:
    rng = np.random.default_rng(7)
    folds = [_errors(rng, {"seconds": 0.3, "job": 0.9, "node": 0.05, "process": 0.2}) for _ in range(3)]
    spread = idea_spread(folds, [np.ones(40)] * 3)
    assert spread is not None
    members = rng.normal(size=(5, len(MEMBERS)))
    # Members of less than a hundredth take no part in the forecast.
    assert spread.said(members) == pytest.approx(members @ one_growth(folds), abs=0.1)


@pytest.mark.slow
def test_no_forecast_where_it_would_be_shorter_than_any_sample() -> None:
    samples = measured("node")
    small = samples.take(samples.nodes <= 8)
    model = fit_model("stack", "stack", {}, small)
    spreads = Spreads(Spread(-0.1, 0.1, None), Spread(-0.2, 0.3, 0.8))
    model = replace(model, spreads=spreads, support=Support(2.0, "enough"))
    longer = replace(small, seconds=small.seconds + 1000)
    pattern = WritePattern(locate(samples.system, 32, "compact"), 4, 300 << 20, 1, 1 << 20)
    assert model.predict(samples.system, pattern).interval is not None
    found = replace(model, samples=longer).predict(samples.system, pattern)
    assert found.interval is None
    assert found.refused is not None
    assert "shorter than any write" in found.refused


def test_interval_beyond_the_scales_is_never_narrower_than_inside() -> None:
    samples = measured("node")
    small = samples.take(samples.nodes <= 8)
    model = fit_model("ridge", "ridge", {}, small)
    spreads = Spreads(Spread(-0.5, 0.5, None), Spread(-0.01, 0.01, None))
    model = replace(model, spreads=spreads, support=Support(2.0, "enough"))
    pattern = WritePattern(locate(samples.system, 9, "compact"), 4, 300 << 20, 1, 1 << 20)
    found = model.predict(samples.system, pattern).interval
    assert found is not None
    assert found.beyond
    assert found.high_s / found.low_s == pytest.approx(np.exp(1.0))
    # Every part may be measured and the sum far beyond.
    columns = {"m": np.array([8.0]), "n": np.array([1e5]), "K": small.columns["K"][:1]}
    assert not model.supported(columns, small.seconds[:1])[0]


@pytest.mark.slow
def test_no_forecast_beyond_the_scales_where_most_samples_were_left_out() -> None:
    samples = measured("node")
    small = samples.take(samples.nodes <= 8)
    kept = small.take((small.nodes < 8) | (np.cumsum(small.nodes == 8) <= 2))
    assert growth_doubt(small, small) is None
    said = growth_doubt(small, kept)
    assert said is not None
    assert said.startswith("only 2 of ")
    judged = judge(kept, search(kept, "stack"), 0)
    assert judged.support.doublings == 3
    model = model_of(kept, judged, small)
    assert model.support == Support(0.0, said)
    for nodes, answered in ((8, True), (16, False)):
        pattern = WritePattern(locate(samples.system, nodes, "compact"), 4, 300 << 20, 1, 1 << 20)
        assert (model.predict(samples.system, pattern).refused is None) == answered


def test_forecasts_reach_as_far_as_scales_were_held_out() -> None:
    near, far = np.full(20, 0.1), np.full(20, 1.2)
    steps = [np.repeat([1.0, 2.0], 10), np.ones(20)]
    assert support_of([near, near], steps, [2, 4, 8]).doublings == 2
    # A factor of three on the largest scale: what smaller scales showed counts for nothing.
    missed = support_of([near, far], steps, [2, 4, 8])
    assert missed.doublings == 0
    assert "on 8 nodes were missed by a factor of 3.3" in missed.reason
    assert support_of([far, near], steps, [2, 4, 8]).doublings == 2
    assert support_of([], [], [8]).doublings == 0
    assert Support(1.0, "").limit(12) == 24


def test_idea_is_chosen_by_how_often_it_is_near() -> None:
    """One fold in three where an idea fails badly does not outweigh two where it is exact."""
    rng = np.random.default_rng(4)
    steady = {"seconds": 0.5, "job": 0.9, "process": 0.9}
    folds = [_errors(rng, {**steady, "node": off}) for off in (3.0, 0.02, -0.02)]
    assert MEMBERS[int(one_growth(folds).argmax())].startswith("node/")


def test_spread_beyond_the_scales_grows_with_each_doubling() -> None:
    rng = np.random.default_rng(1)
    far = [np.repeat([1.0, 2.0, 3.0], 200) for _ in range(3)]
    errors = [rng.normal(0, 0.3, 600) * step for step in far]
    spread = spread_of(errors, far)
    assert spread is not None
    assert spread.low == pytest.approx(-0.3 * 1.2816, rel=0.15)
    assert spread.measured == pytest.approx(0.8, abs=0.06)
    assert spread.holds(np.array([-0.6]), 1.0).tolist() == [False]
    assert spread.holds(np.array([-0.6]), 2.0).tolist() == [True]


def test_spread_beyond_the_scales_leaves_room_for_a_limit_to_come() -> None:
    """Errors of a percent on every known scale do not promise a percent on the next."""
    rng = np.random.default_rng(1)
    far = [np.ones(100), np.ones(100)]
    spread = spread_of([rng.normal(0, 0.01, 100) for _ in far], far)
    assert spread is not None
    assert -0.03 < spread.low < 0
    assert 0.3 < spread.high < np.log(2)


def test_interval_beyond_the_scales_spans_ideas_that_did_equally_well() -> None:
    """Both were exact on every known scale; now one says a second and the other four."""
    exact = {"seconds": 0.9, "job": 0.9, "node": 0.0, "process": 0.0}
    rng = np.random.default_rng(5)
    folds = [_errors(rng, exact) for _ in range(3)]
    spread = idea_spread(folds, [np.ones(40)] * 3)
    assert spread is not None
    assert spread.measured == pytest.approx(0.9, abs=0.1)
    apart = np.array([[np.log(4.0) if name.startswith("process/") else 0.0 for name in MEMBERS]])
    low, high = np.exp(spread.ends(apart, np.ones(1)))
    assert low[0] < 1.0
    assert high[0] > 3.5
    shares = {idea.rate: idea.share for idea in spread.ideas}
    assert shares["node"] > 4 * shares["job"] > 0
    assert sum(shares.values()) == pytest.approx(1)


def test_interval_of_ideas_widens_where_held_out_scales_were_missed() -> None:
    rng = np.random.default_rng(6)
    far = [np.ones(40)] * 3
    widths = []
    for off in (0.0, 0.5):
        spread = idea_spread([_errors(rng, dict.fromkeys(RATES, sign * off)) for sign in (1, -1, 1)], far)
        assert spread is not None
        low, high = spread.ends(np.zeros((1, len(MEMBERS))), np.ones(1))
        widths.append(float(high[0] - low[0]))
    assert widths[1] > widths[0] + 0.5


@pytest.mark.slow
def test_stack_keeps_its_ideas_in_its_file() -> None:
    samples = measured("node")
    small = samples.take(samples.nodes <= 8)
    model = model_of(small, judge(small, search(small, "stack"), 0), small)
    again = parse_model(dump_model(model), "x")
    assert again.spreads == model.spreads
    assert model.spreads.ideas is not None
    pattern = WritePattern(locate(samples.system, 32, "compact"), 4, 300 << 20, 1, 1 << 20)
    found = again.predict(samples.system, pattern)
    assert found.interval == model.predict(samples.system, pattern).interval
    assert found.interval is not None
    assert found.interval.low_s <= found.seconds <= found.interval.high_s


@pytest.mark.slow
def test_interval_beyond_the_scales_widens_with_the_nodes() -> None:
    samples = measured("node")
    small = samples.take(samples.nodes <= 8)
    model = fit_model("stack", "stack", {}, small)
    spreads = Spreads(Spread(-0.1, 0.1, None), Spread(-0.2, 0.3, 0.8))
    model = replace(model, spreads=spreads, support=Support(2.0, "enough"))
    widths = []
    for nodes in (8, 16, 32):
        pattern = WritePattern(locate(samples.system, nodes, "compact"), 4, 300 << 20, 1, 1 << 20)
        found = model.predict(samples.system, pattern)
        assert found.interval is not None
        widths.append(np.log(found.interval.high_s / found.interval.low_s))
    assert widths == pytest.approx([0.2, 0.5, 1.0])
