from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.collective_study.compare import Instance, geomean

from penstock.plan.collective import confirm as confirming
from penstock.plan.collective.access import Access
from penstock.plan.collective.candidates import Candidate
from penstock.plan.collective.confirm import (
    HintBench,
    HintTrial,
    beats,
    clear_winner,
    gain,
    launch_ratios,
    surely_faster,
    try_all,
)
from penstock.plan.collective.expected_gain import Foreseen, expected_gain
from penstock.plan.collective.launch import Launcher
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


def test_launch_counts_as_one_witness_however_long_it_was() -> None:
    """Thirty repetitions of one lucky launch say less than three launches that agree."""
    none = HintTrial(Candidate("none", NO_HINTS), (1.0,) * 30, (10, 10, 10))
    lucky = HintTrial(Candidate("a", NO_HINTS), (0.5,) * 10 + (1.0,) * 20, (10, 10, 10))
    agreed = HintTrial(Candidate("b", NO_HINTS), (0.8,) * 30, (10, 10, 10))
    assert launch_ratios(lucky, none) == pytest.approx([2.0, 1.0, 1.0])
    assert not expected_gain(lucky, none, Foreseen()).advisable
    assert expected_gain(agreed, none, Foreseen()).advisable


def test_launches_that_are_not_known_are_not_made_up() -> None:
    assert len(launch_ratios(trial("a", *[1.0] * 9), trial("b", *[2.0] * 7))) == 7


@pytest.mark.parametrize(("launch_s", "launches"), [(1.0, (5, 5, 2)), (30.0, (5,)), (20.0, (5, 5))])
def test_repetitions_are_spread_over_launches_within_the_time(
    launch_s: float, launches: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    seeds: set[int] = set()

    def launch(bench: HintBench, access: Access, options: list[Candidate]) -> list[HintTrial]:
        now[0] += launch_s
        seeds.add(bench.seed)
        return [HintTrial(one, (1.0,) * bench.repetitions, (bench.repetitions,)) for one in options]

    monkeypatch.setattr(confirming, "_launch", launch)
    bench = HintBench(Launcher(("mpiexec",)), Path(), repetitions=12, limit_s=50.0)
    (found,) = try_all(bench, Access(2, 1, 8, 8), [Candidate("none", NO_HINTS)], lambda: now[0])
    assert found.launches == launches
    assert len(found.seconds) == sum(launches)
    assert len(seeds) == len(launches)


def test_halves_are_disjoint_and_interleaved() -> None:
    instance = Instance(Access(2, 1, 8, 8), (trial("a", 1, 2, 3, 4, 5),))
    assert instance.half(0)[0].seconds == (1, 3, 5)
    assert instance.half(1)[0].seconds == (2, 4)


def test_geomean_of_reciprocals_is_one() -> None:
    assert geomean([2.0, 0.5]) == pytest.approx(1.0)
