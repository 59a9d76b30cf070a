from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from penstock.cli.train import train
from penstock.predict import surveyfile
from penstock.predict.surfaces import LIKENESS, RATE
from penstock.train import survey
from penstock.train.survey import Draft, drawn, measure, named


def test_survey_drafts_have_no_five_streams_and_repeat_with_the_seed() -> None:
    drafts = [*named("c220g5"), *drawn("c220g5", 40, 3)]
    assert 5 not in {draft.streams for draft in drafts}
    assert drawn("c220g5", 40, 3) == drawn("c220g5", 40, 3) != drawn("c220g5", 40, 4)


def test_survey_writes_files_that_fit_the_cache_and_files_that_do_not() -> None:
    sizes = {draft.work().file_bytes for draft in named("c220g5") if draft.workload == "s_wr_rn_1m"}
    assert len(sizes) == 3
    grant_bytes = Draft("c220g5", "s_wr_rn_1m").hardware().lustre.grant_max_bytes
    assert min(sizes) < grant_bytes < max(sizes)
    assert Draft("c220g5", "s_wr_rn_1m", 8, 4).work().file_bytes == survey.LEAST_BYTES


def test_survey_hardware_is_slower_by_its_factors() -> None:
    plain = Draft("c220g5", "s_rd_rn_1m").hardware()
    slow = Draft("c220g5", "s_rd_rn_1m", slower={"device": 2.0, "network": 2.0}).hardware()
    assert slow.device.read_us_per_page == pytest.approx(2 * plain.device.read_us_per_page)
    assert slow.network.client_mb_per_s == pytest.approx(plain.network.client_mb_per_s / 2)
    assert slow.client == plain.client


def test_survey_case_covers_the_grid_and_keeps_what_was_measured() -> None:
    coarse = measure(Draft("c220g5", "s_rd_rn_1m", coarse=True), 0.5, 1)
    assert coarse.features.shape == (99, len(LIKENESS["read"]))
    assert np.isfinite(coarse.features).all()
    rates = coarse.features[:, list(LIKENESS["read"]).index(RATE)].reshape(11, 9)
    # Between two measured neighbours lies what is interpolated, in their middle.
    assert rates[1, 0] == pytest.approx((rates[0, 0] + rates[2, 0]) / 2)
    assert rates[3, 5] > rates[10, 3] > rates[0, 0]


def test_survey_command_writes_a_file_that_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [Draft("c220g5", f"s_{way}_rn_1m", coarse=True) for way in ("rd", "wr")]
    monkeypatch.setattr(survey, "named", lambda cluster: few)
    out = tmp_path / "survey.json"
    options = ["--drawn", "0", "--seconds", "0.2", "--workers", "1", "--json"]
    result = CliRunner().invoke(train, ["survey", "--out", str(out), *options])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    found = surveyfile.load(out)
    assert document["cases"] == len(found.cases) == 2
    assert document["sha256"] == found.digest
