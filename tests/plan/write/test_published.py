"""The published models on cases worked out by hand from Table VI."""

from __future__ import annotations

import pytest

from penstock.plan.storage import load_system
from penstock.plan.write.location import locate
from penstock.plan.write.pattern import WritePattern
from penstock.plan.write.prediction import WritePrediction
from penstock.plan.write.published import published_model


def predict(name: str, nodes: int, cores: int, burst: int, locations: str = "compact") -> WritePrediction:
    system = load_system(name)
    pattern = WritePattern(locate(system, nodes, locations), cores, burst, 4)
    return published_model(system).predict(system, pattern)


def test_titan_case_by_hand() -> None:
    # 128 compact nodes: 109 share the first router. n K = 800, s_r n K = 87,200, m n K = 102,400.
    said = predict("titan", 128, 8, 100 * 10**6)
    s_ost, n_oss = said.features["s_ost"], said.features["n_oss"]
    by_hand = (
        1.7826 + 0.03485 - 0.02 + 25.3752 + 8.963e-5 * s_ost + 0.1498112 + 0.16928
        + 9.315e-11 * 800 * 87_200 + 1.925e-10 * 87_200 * n_oss
    )  # fmt: skip
    assert said.seconds == pytest.approx(by_hand, rel=1e-12)
    assert s_ost == pytest.approx(293, rel=0.03)  # simulated: 11.7 shares of 25 MB
    assert n_oss == pytest.approx(144, rel=1e-6)
    assert said.outside == ()


def test_cetus_case_by_hand() -> None:
    # 128 compact nodes fill one I/O node's group: s_io = 128, s_b = s_l = 64; n K = 1,600.
    said = predict("cetus", 128, 16, 100 * 10**6)
    by_hand = (
        0.902 + 0.0864 * 16 + 5.812e-4 * 102_400 + 4.301e-5 * 102_400 + 2.646e-4 * 2048 + 0.0022 * 1600
        + 2.535e-4 * 48 + 5.167e-4 * 204_800 + 3.238e-6 * 336 + 5.958e-13 * 102_400**2
        + 2.97e-10 * 102_400 * 48
    )  # fmt: skip
    assert said.seconds == pytest.approx(by_hand, rel=1e-9)
    assert said.seconds == pytest.approx(176.1065, abs=1e-4)


@pytest.mark.parametrize("name", ["titan", "cetus"])
@pytest.mark.parametrize("locations", ["compact", "scattered"])
def test_contributions_sum_to_seconds(name: str, locations: str) -> None:
    said = predict(name, 64, 4, 512 << 20, locations)
    assert sum(said.contributions.values()) == pytest.approx(said.seconds, rel=1e-12)
    assert "intercept" in said.contributions
    assert set(said.contributions) - {"intercept"} <= set(said.features)


def test_prediction_outside_the_training_range_is_flagged() -> None:
    said = predict("titan", 2000, 4, 20 << 30)
    assert {entry.name for entry in said.outside} == {"m", "K"}


def test_prediction_of_short_writes_is_flagged() -> None:
    said = predict("titan", 128, 1, 10**6, "scattered")
    assert [entry.name for entry in said.outside] == ["seconds"]


def test_prediction_batch_agrees_with_single_ones() -> None:
    system = load_system("cetus")
    patterns = [WritePattern(locate(system, nodes, "compact"), 4, 10**8, 1) for nodes in (1, 7, 300)]
    model = published_model(system)
    singles = [model.predict(system, pattern).seconds for pattern in patterns]
    assert model.seconds(system, patterns) == pytest.approx(singles, rel=1e-12)
