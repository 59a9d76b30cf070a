from __future__ import annotations

import pytest

from penstock.plan.collective.access import Access
from penstock.plan.collective.candidates import Candidate
from penstock.plan.collective.compare import Instance, geomean, ratio
from penstock.plan.collective.confirm import Trial, beats, clear_winner
from penstock.plan.collective.romio import NO_HINTS


def trial(name: str, *seconds: float) -> Trial:
    return Trial(Candidate(name, NO_HINTS), seconds)


def test_clear_winner_needs_most_pairs_and_a_margin() -> None:
    slow, fast = trial("a", 2.0, 2.1, 1.9, 2.0), trial("b", 1.0, 1.1, 0.9, 1.0)
    assert clear_winner([slow, fast]) is fast
    assert clear_winner([trial("a", 1.0, 1.0, 1.0, 1.0), trial("b", 1.01, 1.0, 1.01, 1.01)]) is None
    assert clear_winner([trial("a", 1.0, 2.0, 1.0, 2.0), trial("b", 2.0, 1.0, 2.0, 1.0)]) is None


def test_pairs_share_their_weather() -> None:
    calm_then_storm = trial("a", 1.0, 10.0, 1.0, 10.0), trial("b", 1.3, 13.0, 1.3, 13.0)
    assert beats(*calm_then_storm)
    assert ratio(calm_then_storm[1], calm_then_storm[0]) == pytest.approx(1.3)


def test_halves_are_disjoint_and_interleaved() -> None:
    instance = Instance(Access(2, 1, 8, 8), (trial("a", 1, 2, 3, 4, 5),))
    assert instance.half(0)[0].seconds == (1, 3, 5)
    assert instance.half(1)[0].seconds == (2, 4)


def test_geomean_of_reciprocals_is_one() -> None:
    assert geomean([2.0, 0.5]) == pytest.approx(1.0)
