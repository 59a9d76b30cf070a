"""The demonstration's promise: the tuned side ends above the default, in equal worlds."""

from __future__ import annotations

import pytest

from penstock.cli.demo import demo
from penstock.evaluate.demo import DemoConfig, PhaseSection, frames, summarise
from penstock.evaluate.tuners import shipped_policy


@pytest.mark.parametrize("seed", range(3))
def test_demo_tuned_side_ends_above_the_default(seed: int) -> None:
    summary = summarise(list(frames(DemoConfig(), "weir", seed)))
    assert summary.tuned_end_mbps > summary.default_end_mbps
    assert summary.gain > 1.05
    assert summary.changes > 0
    assert len(summary.phases) == 3


def test_demo_worlds_are_equal_when_nobody_tunes() -> None:
    config = DemoConfig(phase=(PhaseSection(workload="s_wr_rn_1m", seconds=10.0),))
    for frame in frames(config, "default", seed=3):
        assert frame.default == frame.tuned
        assert frame.tuned.bytes_per_s > 0


def test_demo_runs_exactly_its_phases() -> None:
    config = DemoConfig(phase=(PhaseSection(workload="s_rd_sq_1m", seconds=5.0),))
    assert len(list(frames(config, "climb", 0))) == 10


def test_demo_tunes_with_the_policy_that_ships() -> None:
    default = next(option.default for option in demo.params if option.name == "policy")
    assert default == shipped_policy()
