"""Advice: what it promises, what it costs, and how it is written down."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.plan.hints import check_hint, parse_hints
from penstock.plan.storage import load_system
from penstock.plan.write.adapt import adapt, candidates, corrected, moving_seconds
from penstock.plan.write.checkpoint import checkpointing, parse_share
from penstock.plan.write.jobscript import job_settings, write_job_files
from penstock.plan.write.location import in_use, locate
from penstock.plan.write.pattern import WritePattern
from penstock.plan.write.published import published_model

TITAN = load_system("titan")
MODEL = published_model(TITAN)
SKEWED = WritePattern(locate(TITAN, 128, "compact"), 8, 100 * 10**6, 4)


def test_adapt_unloads_the_crowded_router() -> None:
    advice = adapt(MODEL, TITAN, SKEWED)
    before = in_use(TITAN, "router", SKEWED.locations)[1] * SKEWED.cores * SKEWED.burst_bytes
    chosen = advice.pattern
    after = in_use(TITAN, "router", chosen.locations)[1] * chosen.cores * chosen.burst_bytes
    assert after < before
    assert advice.speedup > 1.2
    assert set(chosen.locations) <= set(SKEWED.locations)


def test_adapt_writes_every_byte_and_charges_for_moving_them() -> None:
    advice = adapt(MODEL, TITAN, SKEWED)
    assert advice.pattern.total_bytes >= SKEWED.total_bytes
    assert advice.pattern.total_bytes - SKEWED.total_bytes < advice.pattern.bursts
    assert advice.seconds == advice.write_s + advice.move_s
    assert advice.move_s > 0
    assert advice.speedup == pytest.approx(MODEL.seconds(TITAN, [SKEWED])[0] / advice.seconds)


def test_moves_are_free_where_the_paper_left_them_out() -> None:
    advice, printed = adapt(MODEL, TITAN, SKEWED), adapt(MODEL, TITAN, SKEWED, free_moves=True)
    assert printed.move_s == 0
    assert moving_seconds(TITAN, SKEWED, printed.pattern) > 0
    assert printed.speedup > advice.speedup
    assert printed.write_s <= advice.write_s


def test_adapt_keeps_the_best_pattern_as_it_is() -> None:
    advice = adapt(MODEL, TITAN, SKEWED)
    again = adapt(MODEL, TITAN, advice.pattern)
    assert again.speedup < 1.05


def test_adapt_candidates_stay_inside_the_training_range() -> None:
    for choice in candidates(MODEL, TITAN, SKEWED):
        assert choice.nodes >= 16
        assert choice.burst_bytes <= 10240 * 10**6
        assert choice.stripes <= 64


def test_adapt_gain_uses_the_corrected_sign() -> None:
    # Predicted 20 s, observed 15 s: the model says 5 s too much, so an adapted 12 s is expected to be 7 s.
    assert corrected(12.0, 20.0, 15.0) == pytest.approx(7.0)
    # An error larger than what is left scales instead of promising nothing.
    assert corrected(4.0, 20.0, 10.0) == pytest.approx(2.0)


def test_adapt_observed_time_is_the_base_of_the_speedup() -> None:
    advice = adapt(MODEL, TITAN, SKEWED, observed_s=40.0)
    assert advice.speedup == pytest.approx(40.0 / advice.seconds)


def test_moving_nothing_costs_nothing() -> None:
    assert moving_seconds(TITAN, SKEWED, SKEWED) == 0
    half = WritePattern(SKEWED.locations[:64], 8, 2 * SKEWED.burst_bytes, 4)
    assert moving_seconds(TITAN, SKEWED, half) == pytest.approx(8 * SKEWED.burst_bytes / 3.0e9)


def test_job_files_hold_the_advice(tmp_path: Path) -> None:
    advice = adapt(MODEL, TITAN, SKEWED)
    settings = job_settings(TITAN, advice, {"romio_ds_write": "disable"})
    write_job_files(tmp_path / "job", settings, advice)
    hints = dict(line.split() for line in (tmp_path / "job" / "romio_hints").read_text().splitlines())
    assert hints["cb_nodes"] == str(advice.pattern.bursts)
    assert hints["romio_ds_write"] == "disable"
    assert settings.setstripe == f"lfs setstripe -c {advice.pattern.stripes} -S 1M DIRECTORY"
    listed = np.loadtxt(tmp_path / "job" / "aggregators.txt", dtype=int)
    assert listed.tolist() == advice.pattern.locations.tolist()


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        ("cb_nodez=4", 'did you mean "cb_nodes"'),
        ("cb_nodes=0", "must not be 0"),
        ("cb_nodes", "NAME=VALUE"),
        ("cb_nodes=-3", "whole number"),
        ("striping_unit=1000", "64 KiB"),
        ("romio_cb_write=on", "enable, disable"),
        ("cb_config_list=a b", "white space"),
    ],
)
def test_hints_bad_ones_are_refused(hint: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_hints([hint])


def test_hints_good_ones_pass() -> None:
    check_hint("striping_unit", str(1 << 20))
    check_hint("cb_config_list", "*:2")


def test_budget_gives_the_interval() -> None:
    plan = checkpointing(30.0, parse_share("10%"))
    assert plan.interval_s == pytest.approx(300)
    assert plan.compute_s == pytest.approx(270)
    assert plan.share_low == pytest.approx(21 / 291)
    assert plan.share_high == pytest.approx(39 / 309)


@pytest.mark.parametrize("text", ["0", "100%", "150%", "nan", "-5%", "", "10%%"])
def test_budget_refuses_what_is_no_share(text: str) -> None:
    with pytest.raises(UsageError, match="--budget"):
        parse_share(text)
