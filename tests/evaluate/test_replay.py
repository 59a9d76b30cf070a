"""The closed loop over recorded rows: what a policy sees, where it may go, and what its choices are worth."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.errors import DataError, UsageError
from penstock.evaluate.replay import DEFAULT, evaluate_replay, recorded_space, replay
from penstock.evaluate.request import Terms
from penstock.knobs import Setting
from penstock.train.held import read_held

DATA = Path(__file__).parents[1] / "fixtures" / "lustre-latency"
READS, WRITES = read_held(DATA)
BAD = Setting(pages=64, flight=1)


def test_policy_that_stays_gets_what_its_setting_is_worth() -> None:
    document = evaluate_replay([READS, WRITES], Terms(("default",), 5.0, seeds=2))
    for row, workload in zip(document["rows"], (READS, WRITES), strict=True):
        assert row["policies"]["default"]["vs_default"] == 1.0
        assert row["best_mbps"] == max(workload.mbps.values())
        assert row["policies"]["default"]["final_vs_best"] == pytest.approx(
            row["default_mbps"] / row["best_mbps"]
        )


def test_policy_moves_among_recorded_settings_only_and_repeats_with_its_seed() -> None:
    terms = Terms(("random",), 20.0)
    steps = replay(READS, 3, terms)
    assert {step.setting for step in steps} == set(READS.settings)
    assert [step.setting for step in replay(READS, 3, terms)] == [step.setting for step in steps]
    assert all(step.mbps == READS.mbps[step.setting] for step in steps)


@pytest.mark.parametrize("policy", ["weir", "carat", "climb"])
def test_shipped_policies_climb_from_a_bad_start_without_leaving_what_was_recorded(policy: str) -> None:
    steps = replay(WRITES, 1, Terms((policy,), 30.0, guard=True), BAD)
    assert steps[0].setting == BAD
    assert {step.setting for step in steps} <= set(WRITES.settings)
    assert all(step.decision is None or step.decision.reason for step in steps)


def test_space_offers_what_was_recorded_and_leaves_the_cache_limit_alone() -> None:
    space = recorded_space(READS)
    assert space.candidates().settings == READS.settings
    assert space["dirty"].floor == space["dirty"].ceiling == 256


def test_start_that_was_not_recorded_is_refused() -> None:
    with pytest.raises(UsageError, match="pages=2"):
        replay(READS, 0, Terms(("default",)), Setting(pages=2, flight=2))
    without = {s: found for s, found in READS.intervals.items() if s != DEFAULT}
    with pytest.raises(DataError, match="default"):
        evaluate_replay([replace(READS, intervals=without)], Terms(("default",)))
    with pytest.raises(UsageError, match="oracle"):
        evaluate_replay([READS], Terms(("oracle",)))


def test_replay_prints_rows_as_documented() -> None:
    words = ["evaluate", "replay", "--data", str(DATA), "--policy", "climb", "--steps", "8", "--seeds", "2"]
    result = CliRunner().invoke(
        cli, [*words, "--start", "64,1", "--guard", "on", "--json"], catch_exceptions=False
    )
    rows = json.loads(result.stdout)["rows"]
    assert [row["workload"] for row in rows] == ["rtt10-rr_1m_4", "rtt10-sw_1m_1"]
    assert {"mbps", "vs_default", "vs_best", "final_vs_best"} <= set(rows[0]["policies"]["climb"])
    shown = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert "rtt10-sw_1m_1" in shown.stdout
