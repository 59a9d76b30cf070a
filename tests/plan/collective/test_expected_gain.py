"""What runs and forecast together let expect: shrunk where runs scatter, decided where they agree."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from penstock.plan.collective import advise as advising
from penstock.plan.collective.access import Access
from penstock.plan.collective.advise import HintAdvice, advise, confirm, contenders, settle
from penstock.plan.collective.candidates import Candidate
from penstock.plan.collective.confirm import HintBench, HintTrial, in_the_race, more, paired_ratios
from penstock.plan.collective.expected_gain import Foreseen, expected_gain
from penstock.plan.collective.launch import Launcher
from penstock.plan.collective.operation_profile import OperationProfile
from penstock.plan.collective.romio import NO_HINTS
from penstock.plan.collective.surrogates import Surrogates
from penstock.units import KIB, MIB

STRIDED = Access(8, 1, 2 * MIB, 64 * KIB)


def trial(name: str, *seconds: float) -> HintTrial:
    return HintTrial(Candidate(name, NO_HINTS), seconds)


def raced(advice: HintAdvice, median: dict[str, float], noise: float, runs: int) -> HintAdvice:
    """The advice after so many noisy runs of every candidate; those not named take a tenth more than no hints."""
    rng = np.random.default_rng(1)
    return settle(
        advice,
        [
            HintTrial(
                one.candidate, tuple(median.get(one.candidate.name, 1.1) * rng.lognormal(0, noise, runs))
            )
            for one in contenders(advice, 3)
        ],
    )


def test_scattered_runs_are_believed_less_than_steady_ones() -> None:
    none = trial("none", *[1.0] * 8)
    steady = expected_gain(trial("a", *[0.8] * 8), none, Foreseen())
    scattered = expected_gain(trial("a", 0.2, 3.2, 0.3, 2.1, 0.8, 0.4, 1.6, 0.8), none, Foreseen())
    assert steady.ratio == pytest.approx(1.25, rel=0.01)
    assert 1.0 < scattered.ratio < 1.1
    assert steady.advisable
    assert not scattered.advisable


def test_forecast_decides_what_few_runs_leave_open_and_is_overruled_by_many() -> None:
    rng = np.random.default_rng(3)
    slower = [float(value) for value in np.exp(rng.normal(0.15, 0.3, 60))]
    hopeful = Foreseen(0.5, 0.2)
    few = expected_gain(trial("a", *slower[:3]), trial("none", *[1.0] * 3), hopeful)
    many = expected_gain(trial("a", *slower), trial("none", *[1.0] * 60), hopeful)
    assert few.ratio > 1.0 > many.ratio


def test_one_stalled_run_does_not_decide() -> None:
    none = trial("none", *[1.0] * 11)
    stalled = expected_gain(trial("a", *[0.8] * 10, 90.0), none, Foreseen())
    assert stalled.ratio == pytest.approx(1.25, rel=0.02)


def test_losers_are_rarely_advised() -> None:
    """Three candidates a tenth slower than no hints: noise must not make one look worth setting."""
    rng = np.random.default_rng(5)
    advised = 0
    for _ in range(400):
        runs = rng.lognormal(0.0, 0.4, (4, 28))
        runs[1:] *= 1.1
        none = trial("none", *runs[0])
        gains = [expected_gain(trial("a", *one), none, Foreseen()) for one in runs[1:]]
        advised += any(gain.advisable for gain in gains)
    assert advised < 0.05 * 400


def test_larger_gain_wins_over_a_smaller_certain_one(surrogates: Surrogates) -> None:
    advice = advise(surrogates, STRIDED)
    names = [one.candidate.name for one in contenders(advice, 3)]
    best = next(name for name in names if name not in {"none", "rule"})
    settled = raced(advice, {"none": 1.0, "rule": 0.9, best: 0.6}, 0.1, 12)
    assert settled.chosen is not None
    assert settled.chosen.candidate.name == best
    assert settled.promised == pytest.approx(1 / 0.6, rel=0.1)
    assert f"{settled.promised:.2f} times as fast as no hints" in settled.reasons[-1]


def test_contenders_differ_in_aggregators_and_from_no_hints(surrogates: Surrogates) -> None:
    advice = advise(surrogates, STRIDED)
    found = contenders(advice, 3)
    others = [one for one in found if one.candidate.name not in {"none", "rule"}]
    counts = [len(one.forecast.counts.aggregators) for one in others]
    assert len(set(counts)) == len(counts)
    assert all(one.forecast.counts != advice.default.forecast.counts for one in others)
    assert {"none", "rule"} <= {one.candidate.name for one in found}


def test_unsteady_profile_adds_the_largest_buffer_of_each_aggregator_count(surrogates: Surrogates) -> None:
    advice = advise(surrogates, STRIDED)
    sure = {one.candidate.name for one in contenders(advice, 1)}
    unsure = contenders(replace(advice, sure=False), 1)
    added = [one.candidate.hints for one in unsure if one.candidate.name not in sure]
    share = {count: -(-STRIDED.range_bytes // count) for count in range(1, STRIDED.ranks + 1)}
    several = {hints.cb_nodes: hints.cb_buffer_size or 0 for hints in added if hints.cb_nodes != 1}
    assert len(several) > 1
    assert all(size >= share[count or 1] for count, size in several.items())


def test_race_drops_who_was_beaten_and_pairs_what_both_ran() -> None:
    none, slow, fast = trial("none", *[1.0] * 7), trial("slow", *[1.5] * 7), trial("fast", *[0.98] * 7)
    racing = [one.name for one in in_the_race([none, slow, fast])]
    assert racing == ["none", "fast"]
    longer = more([none, slow, fast], [trial("none", *[2.0] * 7), trial("fast", *[1.0] * 7)])
    assert [len(one.seconds) for one in longer] == [14, 7, 14]
    assert statistics.median(paired_ratios(longer[1], longer[0])) == pytest.approx(1 / 1.5)


def test_race_keeps_who_may_have_lost_by_bad_luck() -> None:
    """Six losses in seven would not be luck in a single look at 90 %, but there are several looks."""
    none, unlucky = trial("none", *[1.0] * 7), trial("unlucky", *[1.5] * 6, 0.9)
    assert [one.name for one in in_the_race([none, unlucky])] == ["none", "unlucky"]


def _confirmed(
    advice: HintAdvice, monkeypatch: pytest.MonkeyPatch, seconds_a_batch: float
) -> tuple[list[tuple[int, int]], HintAdvice]:
    """Confirm with made-up runs of equals; the batches' candidates and repetitions."""
    rng = np.random.default_rng(2)
    batches: list[tuple[int, int]] = []
    now = [0.0]

    def runs(bench: HintBench, access: Access, options: Sequence[Candidate]) -> list[HintTrial]:
        now[0] += seconds_a_batch
        batches.append((len(options), bench.repetitions))
        return [HintTrial(one, tuple(rng.lognormal(0, 0.3, bench.repetitions))) for one in options]

    monkeypatch.setattr(advising, "try_all", runs)
    bench = HintBench(Launcher(("mpiexec", "-n", "{ranks}")), Path(), limit_s=100.0)
    return batches, confirm(advice, bench, 3, clock=lambda: now[0])


def test_confirming_goes_on_in_growing_batches(
    profile: OperationProfile, surrogates: Surrogates, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches, settled = _confirmed(advise(surrogates, STRIDED), monkeypatch, 1.0)
    assert [repetitions for _, repetitions in batches] == [15, 15, 30, 60, 120, 240]
    assert settled.sure
    assert max(len(one.seconds) for one in settled.trials) == 480


def test_confirming_ends_before_it_takes_too_long(
    surrogates: Surrogates, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches, _ = _confirmed(advise(surrogates, STRIDED), monkeypatch, 40.0)
    assert len(batches) == 2


def test_on_a_busy_machine_the_rule_is_taken_unless_it_loses_or_another_beats_it(
    surrogates: Surrogates,
) -> None:
    unsure = replace(advise(surrogates, STRIDED), chosen=None, sure=False)
    other = next(
        one.candidate.name for one in contenders(unsure, 3) if one.candidate.name not in {"none", "rule"}
    )
    for median, expected in (
        ({"none": 1.0, "rule": 0.85}, "rule"),
        ({"none": 1.0, "rule": 1.4}, None),
        ({"none": 1.0, "rule": 0.8, other: 0.79}, "rule"),
        ({"none": 1.0, "rule": 0.8, other: 0.4}, other),
    ):
        chosen = raced(unsure, median, 0.5, 60).chosen
        assert (chosen.candidate.name if chosen else None) == expected
