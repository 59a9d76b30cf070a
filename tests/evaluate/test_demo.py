"""The demonstration's promise: the tuned side ends above the default, in equal worlds."""

from __future__ import annotations

import pytest

from penstock.evaluate.demo import DemoConfig, frames, summarise


@pytest.mark.parametrize("seed", range(5))
def test_demo_tuned_side_ends_above_the_default(seed: int) -> None:
    summary = summarise(list(frames(DemoConfig(), "climb", seed)))
    assert summary.tuned_end_mbps > 1.2 * summary.default_end_mbps
    assert summary.gain > 1.1
    assert summary.changes > 0


def test_demo_worlds_are_equal_when_nobody_tunes() -> None:
    for frame in frames(DemoConfig(), "default", seed=3):
        assert frame.default == frame.tuned


def test_demo_runs_exactly_its_phases() -> None:
    config = DemoConfig()
    seen = list(frames(config, "climb", 0))
    assert len(seen) == round(config.seconds / config.interval_s)
