"""Profile, surrogates, forecasts and advice, on a stored profile."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.collective_study.blackbox import BlackBox, Run, fractional_design
from benchmarks.collective_study.noise import NoiseStudy, profile_study

from penstock.errors import DataError, InvalidError, MissingError, UsageError
from penstock.plan.collective.access import Access
from penstock.plan.collective.advise import advise, contenders, settle
from penstock.plan.collective.candidates import candidates, fixed_rule
from penstock.plan.collective.confirm import HintTrial
from penstock.plan.collective.operation_profile import (
    OPERATIONS,
    Measuring,
    OperationProfile,
    load,
    save_text,
)
from penstock.plan.collective.predictor import doubt, forecast
from penstock.plan.collective.romio import NO_HINTS, two_phase
from penstock.plan.collective.surrogates import GRIDS, Query, Surrogates, choose, compare
from penstock.units import KIB, MIB

STRIDED = Access(4, 1, 4 * MIB, 16 * KIB)


def test_profile_round_trips_and_holds_medians_of_seven(profile: OperationProfile, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(save_text(profile))
    assert load(path) == profile
    assert {sample.operation for sample in profile.samples} == set(OPERATIONS)
    assert min(sample.repetitions for sample in profile.samples) >= 7


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["samples"][0].update(operation="alltoal"), 'did you mean "alltoall"'),
        (lambda d: d["samples"][0].update(seconds=-1.0), "samples.0.seconds"),
        (lambda d: d["samples"][0].update(seconds=float("nan")), "samples.0.seconds"),
        (lambda d: d["samples"][0].update(ranks=0), "samples.0.ranks"),
        (lambda d: d.update(samples=[]), "samples"),
        (lambda d: d.update(format="other"), "format"),
        (lambda d: d.update(extra=1), "unknown key 'extra'"),
    ],
)
def test_damaged_profile_names_file_and_key(
    profile_path: Path, tmp_path: Path, change: object, said: str
) -> None:
    document = json.loads(profile_path.read_text())
    assert callable(change)
    change(document)
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)


def test_profile_that_is_no_profile_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with pytest.raises(MissingError, match="penstock plan profile"):
        load(path)
    for text in (b"\x80\x04pickle", b"[1, 2]", b"[" * 100_000):
        path.write_bytes(text)
        with pytest.raises(DataError):
            load(path)


@pytest.mark.parametrize("how", [{"ranks": (1, 4)}, {"repetitions": 3}, {"nodes": 9}, {"ranks": ()}])
def test_measuring_refuses_what_gives_no_medians(how: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        Measuring(tmp_path, **how)  # type: ignore[arg-type]


def test_each_operation_compares_the_four_families(profile: OperationProfile) -> None:
    table = compare(profile, "shuffle")
    assert {choice.algorithm for choice in table} == set(GRIDS)
    chosen = next(choice for choice in profile.surrogates if choice.operation == "shuffle")
    assert min(choice.relative_rmse for choice in table) == pytest.approx(chosen.relative_rmse, rel=0.2)


@pytest.mark.slow
def test_choosing_is_repeatable(profile: OperationProfile) -> None:
    few = profile.model_copy(update={"samples": profile.of("touch"), "surrogates": ()})
    assert choose(few) == choose(few)


def test_operation_with_too_few_samples_is_refused(profile: OperationProfile) -> None:
    few = profile.model_copy(update={"samples": profile.of("bcast")[:2]})
    with pytest.raises(DataError, match="'bcast' has 2 samples"):
        compare(few, "bcast")


def test_surrogates_grow_with_bytes_beyond_what_was_measured(surrogates: Surrogates) -> None:
    far = [Query("write_full", 4, 1, size * MIB, size * MIB) for size in (16, 32, 64)]
    seconds = surrogates.seconds(far)
    assert seconds[2] == pytest.approx(2 * seconds[1]) == pytest.approx(4 * seconds[0])


def test_forecast_sums_its_operations_and_counts_every_round(surrogates: Surrogates) -> None:
    hints = two_phase(4, 256 * KIB, STRIDED)
    (found,) = forecast(surrogates, STRIDED, [hints])
    assert found.seconds == pytest.approx(sum(cost.seconds for cost in found.operations.values()))
    assert found.counts.alltoalls == 1 + 16
    assert found.operations["shuffle"].times == 1 + 16
    assert found.operations["alltoall"].times == 1
    assert "touch" not in found.operations
    assert found.first_extra_s > 0
    written = ("write_first", "write_full", "write_partial")
    assert sum(found.operations[name].times for name in written if name in found.operations) == 16
    assert 0 < found.error_ratio < 1


def test_doubt_of_a_ratio_forgets_what_both_share(surrogates: Surrogates) -> None:
    one, other = forecast(surrogates, STRIDED, [two_phase(n, MIB, STRIDED) for n in (1, 4)])
    assert doubt(one, one) == 0.0
    assert 0 < doubt(one, other) == pytest.approx(doubt(other, one))
    assert doubt(one, other) < one.error_ratio + other.error_ratio


def test_candidates_always_hold_none_and_the_rule() -> None:
    options = {option.name: option.hints for option in candidates(STRIDED)}
    assert options["none"] == NO_HINTS
    assert options["rule"] == fixed_rule(STRIDED)
    assert len(set(options.values())) == len(options)


def test_advice_prefers_the_simplest_that_is_good(surrogates: Surrogates) -> None:
    advice = advise(surrogates, STRIDED)
    assert [one.forecast.seconds for one in advice.ranking] == sorted(
        one.forecast.seconds for one in advice.ranking
    )
    alone = [option for option in candidates(STRIDED) if option.name in {"none", "rule"}]
    few = advise(surrogates, STRIDED, alone)
    faster = few.ranking[0].candidate.name
    assert (few.chosen is None) == (faster == "none")
    assert advise(surrogates, Access(4, 1, MIB, MIB)).chosen is None


def test_advice_outside_the_profile_says_so(surrogates: Surrogates) -> None:
    advice = advise(surrogates, Access(64, 1, 64 * KIB, 4 * KIB))
    assert any("outside the profile: 64 ranks" in reason for reason in advice.reasons)


@pytest.mark.parametrize(("hinted_s", "advised"), [(0.5, True), (1.0, False), (2.0, False)])
def test_real_runs_overrule_the_forecast(surrogates: Surrogates, hinted_s: float, advised: bool) -> None:
    advice = advise(surrogates, STRIDED)
    trials = [
        HintTrial(one.candidate, (1.0,) * 7 if one.candidate.name == "none" else (hinted_s,) * 7)
        for one in contenders(advice, 2)
    ]
    settled = settle(advice, trials)
    assert (settled.chosen is not None) is advised
    assert ("no clear winner" in settled.reasons[-1]) is (hinted_s != 2.0)


@pytest.mark.slow
def test_ranking_survives_noise_of_half_the_time(profile: OperationProfile) -> None:
    accesses = [STRIDED, Access(8, 1, MIB, 16 * KIB)]
    clean, noisy = profile_study(profile, accesses, (0.01, 0.5), NoiseStudy(seeds=2))
    assert clean.rank_correlation > 0.98
    assert noisy.rank_correlation > 0.8
    assert noisy.regret < 1.25


def test_black_box_learns_three_runs_an_instance() -> None:
    accesses = [Access(ranks, 1, size, 16 * KIB) for ranks in (4, 8) for size in (MIB, 4 * MIB, 16 * MIB)]
    runs = []
    for number, access in enumerate(accesses):
        design = fractional_design(candidates(access), number)
        assert len({option.hints.cb_nodes for option in design}) == len(design) == 3
        runs += [Run(access, option, access.total_bytes / (option.hints.cb_nodes or 1)) for option in design]
    learned = BlackBox(runs)
    options = candidates(accesses[1])
    best = options[int(np.argmin(learned.seconds(accesses[1], options)))]
    assert best.hints.cb_nodes == 4
    with pytest.raises(DataError, match="too few"):
        BlackBox(runs[:2])


def test_unsteady_profile_promises_nothing(profile: OperationProfile) -> None:
    shaken = profile.model_copy(
        update={
            "samples": tuple(
                sample.model_copy(update={"spread": sample.spread + 0.5}) for sample in profile.samples
            )
        }
    )
    access = Access(8, 1, 8 * MIB, 256 * KIB)
    calm, unsure = advise(Surrogates(profile), access), advise(Surrogates(shaken), access)
    assert calm.sure
    assert not unsure.sure
    assert unsure.chosen is None
    assert "not sure" in unsure.reasons[0]
    assert "--confirm" in unsure.reasons[0]
    settled = settle(unsure, [HintTrial(one.candidate, (1.0,) * 9) for one in contenders(unsure, 2)])
    assert settled.sure
