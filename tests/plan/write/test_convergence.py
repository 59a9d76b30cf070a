"""When repeated runs are enough."""

from __future__ import annotations

import math

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.plan.write.convergence import ConvergenceRule, draw


def test_half_width_uses_the_number_of_runs() -> None:
    times = [10.0, 12.0, 8.0, 11.0, 9.0]
    by_hand = 1.959964 * np.std(times) / math.sqrt(4) / 10
    assert ConvergenceRule().half_width(times) == pytest.approx(by_hand, rel=1e-6)


def test_converged_needs_more_than_luck() -> None:
    rule = ConvergenceRule()
    assert not rule.converged([10.0, 10.0])
    assert rule.converged([10.0, 10.0, 10.0])
    assert not rule.converged([])


def test_draw_stops_as_soon_as_the_rule_holds() -> None:
    times = iter([10.0, 10.5, 9.5, 99.0])
    sample = draw(lambda: next(times), ConvergenceRule())
    assert sample.converged
    assert sample.times_s == (10.0, 10.5, 9.5)
    assert sample.mean_s == 10.0


def test_draw_gives_up_at_its_limit() -> None:
    times = iter([1.0, 50.0] * 10)
    sample = draw(lambda: next(times), ConvergenceRule(max_runs=6))
    assert not sample.converged
    assert len(sample.times_s) == 6


def test_converged_means_hold_the_promised_error() -> None:
    """Of means declared converged at 95 % and 10 %, few may be off by more than 10 %."""
    rng = np.random.default_rng(0)
    rule = ConvergenceRule(min_runs=5, max_runs=200)
    means = [draw(lambda: float(rng.gamma(9.0, 1.0)), rule).mean_s for _ in range(200)]
    assert np.mean(np.abs(np.array(means) - 9.0) > 0.9) < 0.15


@pytest.mark.parametrize(
    "bad", [{"confidence": 1.0}, {"error": 0.0}, {"error": float("nan")}, {"min_runs": 1}, {"max_runs": 2}]
)
def test_rule_refuses_what_cannot_be(bad: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        ConvergenceRule(**bad)  # type: ignore[arg-type]
