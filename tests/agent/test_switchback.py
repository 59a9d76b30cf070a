"""Switchback trials claim what the data shows and no more."""

from __future__ import annotations

from random import Random

import pytest

from penstock.agent.switchback import Block, TrialPlan, Verdict, judge, run
from penstock.errors import UsageError
from penstock.gains import GainVerdict


def trial(gain: float, pairs: int, noise: float, seed: int) -> list[Block]:
    """A node whose workload drifts by the hour and whose blocks are noisy."""
    rng = Random(f"noise/{seed}")
    state = {"tuned": False, "block": 0}

    def switch(tuned: bool) -> None:
        state["tuned"] = tuned

    def measure(seconds: float) -> float:
        state["block"] += 1
        drift = 1.0 + 0.5 * state["block"] / (2 * pairs)
        return 1e8 * drift * (gain if state["tuned"] else 1.0) * rng.lognormvariate(0.0, noise)

    return list(run(TrialPlan(600, 600, 1200 * pairs), switch, measure, seed))


def test_switchback_finds_a_real_gain() -> None:
    verdict = judge(trial(1.3, 24, 0.1, seed=1))
    assert verdict.low is not None
    assert verdict.high is not None
    assert 1.0 < verdict.low < 1.3 < verdict.high
    assert verdict.sentence.startswith("tuning helps")


def test_switchback_finds_a_real_harm() -> None:
    assert judge(trial(0.7, 24, 0.1, seed=2)).sentence.startswith("tuning harms")


def test_switchback_claims_nothing_where_there_is_nothing() -> None:
    verdicts = [judge(trial(1.0, 12, 0.2, seed)).sentence for seed in range(100)]
    assert sum(sentence.startswith("undecided: ") for sentence in verdicts) >= 88


def test_switchback_tells_no_difference_from_not_knowing() -> None:
    assert judge(trial(1.0, 40, 0.01, seed=3)).verdict is GainVerdict.NO_DIFFERENCE
    assert judge(trial(1.02, 40, 0.001, seed=3)).verdict is GainVerdict.GAIN
    assert judge(trial(0.98, 40, 0.001, seed=3)).verdict is GainVerdict.LOSS
    unsure = Verdict(4, 0.982, 0.242, 3.991)
    assert unsure.verdict is GainVerdict.UNDECIDED
    assert unsure.sentence == "undecided: 0.982 times as fast, 95 % between 0.242 and 3.991"


def test_switchback_interval_covers_the_truth_about_95_times_in_100() -> None:
    covered = 0
    for seed in range(200):
        verdict = judge(trial(1.2, 6, 0.15, seed))
        assert verdict.low is not None
        assert verdict.high is not None
        covered += verdict.low <= 1.2 <= verdict.high
    assert 180 <= covered <= 200


def test_switchback_without_io_has_no_verdict() -> None:
    blocks = [Block(tuned, 0.0) for tuned in (True, False) * 5]
    assert judge(blocks).sentence.startswith("undecided: only 0 pairs")


def test_switchback_runs_both_orders_and_equal_numbers() -> None:
    blocks = trial(1.0, 20, 0.1, seed=3)
    assert sum(block.tuned for block in blocks) == 20
    assert 0 < sum(block.tuned for block in blocks[::2]) < 20


@pytest.mark.parametrize(
    "plan", [TrialPlan(600, 600, 3000), TrialPlan(0, 600, 99999), TrialPlan(600, -1, 99999)]
)
def test_switchback_that_cannot_end_in_a_verdict_is_refused(plan: TrialPlan) -> None:
    with pytest.raises(UsageError):
        list(run(plan, lambda tuned: None, lambda seconds: 1.0, 0))
