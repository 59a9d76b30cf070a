"""The survey of metadata: random worlds repeat, slots bring what they must, and the file covers every combination."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from click.testing import CliRunner

from penstock.cli.train import train
from penstock.knobs import Setting
from penstock.predict import surveyfile
from penstock.predict.surfaces import SurveyPredictor
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.metadata.metadata_probe import MetadataWorld
from penstock.simulate.metadata.workloads import parse_metadata
from penstock.spaces import mdc
from penstock.train.metadata_survey import HOME, draw_metadata_world, measure_metadata
from penstock.train.survey import make_survey


def test_random_worlds_of_metadata_repeat() -> None:
    one, again, other = (draw_metadata_world(1, number) for number in (7, 7, 8))
    assert (one.cluster, one.work, one.clients) == (again.cluster, again.work, again.clients)
    assert other.cluster != one.cluster


def test_surveyed_slots_pay_on_a_long_way_where_threads_wait_for_them() -> None:
    cluster = builtin_cluster("c220g5").override(
        {"network.round_trip_us": "5000", "metadata.mod_rpcs": "128"}
    )
    held = measure_metadata("far", MetadataWorld(cluster, parse_metadata("md_create_32")), Random(1))
    assert held is not None
    assert held.kind == "write"
    (case,) = make_survey([held], "test", {}, mdc(128)).cases
    outlook = SurveyPredictor(make_survey([held], "test", {}, mdc(128))).outlooks(
        "write", [()], mdc(16).candidates()
    )[0]
    assert outlook.cases is not None
    places = mdc(16).candidates().places
    gains = outlook.cases.surfaces["write"][0, 0]
    assert gains[places[HOME]] == pytest.approx(0.0)
    assert gains[places[Setting(rpcs=16, mod_rpcs=15)]] > 0.7
    assert gains[places[Setting(rpcs=8, mod_rpcs=1)]] < -1.0
    assert case.gains.shape == (1, 42)


def test_survey_of_metadata_is_a_file_of_its_own(tmp_path: Path) -> None:
    out = tmp_path / "survey.json"
    asked = ["survey", "--kind", "metadata", "--worlds", "2", "--out", str(out)]
    done = CliRunner().invoke(train, asked)
    assert done.exit_code == 0, done.output
    found = surveyfile.load(out)
    assert found.space == "mdc"
    assert tuple(found.knobs) == ("rpcs", "mod_rpcs")
    home = 2 * 6 + 2
    assert all(np.allclose(case.gains[:, home], 0.0) for case in found.cases)
    refused = CliRunner().invoke(train, [*asked, "--from", str(tmp_path)])
    assert refused.exit_code != 0
