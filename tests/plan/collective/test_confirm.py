from __future__ import annotations

import numpy as np
import pytest
from benchmarks.collective_study.compare import Instance, geomean

from penstock.plan.collective.access import Access
from penstock.plan.collective.candidates import Candidate
from penstock.plan.collective.confirm import HintTrial, beats, clear_winner, gain, surely_faster
from penstock.plan.collective.romio import NO_HINTS


def trial(name: str, *seconds: float) -> HintTrial:
    return HintTrial(Candidate(name, NO_HINTS), seconds)


def test_clear_winner_needs_most_pairs_and_a_margin() -> None:
    slow, fast = trial("a", *[2.0, 2.1, 1.9] * 3), trial("b", *[1.0, 1.1, 0.9] * 3)
    assert clear_winner([slow, fast]) is fast
    assert clear_winner([trial("a", *[1.0] * 9), trial("b", *[1.01] * 9)]) is None
    assert clear_winner([trial("a", *[1.0, 2.0] * 9), trial("b", *[2.0, 1.0] * 9)]) is None


@pytest.mark.parametrize(
    ("wins", "losses", "sure"), [(4, 0, False), (5, 0, True), (7, 1, True), (6, 1, False), (8, 2, False)]
)
def test_certainty_is_the_sign_tests(wins: int, losses: int, sure: bool) -> None:
    one = trial("a", *[1.0] * (wins + losses))
    other = trial("b", *[1.2] * wins, *[0.9] * losses)
    assert surely_faster(one, other) is sure


def test_certainty_is_rarely_wrong_about_equals() -> None:
    rng = np.random.default_rng(1)
    pairs = [(trial("a", *rng.lognormal(size=12)), trial("b", *rng.lognormal(size=12))) for _ in range(1000)]
    assert sum(surely_faster(*pair) for pair in pairs) <= 60


def test_pairs_share_their_weather() -> None:
    calm_then_storm = trial("a", *[1.0, 10.0] * 3), trial("b", *[1.3, 13.0] * 3)
    assert beats(*calm_then_storm)
    assert gain(*calm_then_storm) == pytest.approx(1.3)


def test_halves_are_disjoint_and_interleaved() -> None:
    instance = Instance(Access(2, 1, 8, 8), (trial("a", 1, 2, 3, 4, 5),))
    assert instance.half(0)[0].seconds == (1, 3, 5)
    assert instance.half(1)[0].seconds == (2, 4)


def test_geomean_of_reciprocals_is_one() -> None:
    assert geomean([2.0, 0.5]) == pytest.approx(1.0)
