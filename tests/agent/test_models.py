"""The agent and its model: good, bad, missing, and a decision made again from what `explain` shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.rigs.agents import agent
from tests.rigs.served import Served, wait_for

from penstock.agent.model_choice import load_predictor
from penstock.agent.startup import Places
from penstock.decide.policies import policy_class
from penstock.errors import ModelFileError
from penstock.knobs import Setting
from penstock.predict import modelfile
from penstock.predict.model import ForestPredictor, Model
from penstock.snapshot import Target
from penstock.spaces import lustre
from penstock.testing.made_models import random_model
from penstock.units import GIB
from penstock.window import Window

CARAT = ("--mode", "tune", "--policy", "carat")


def sure_model(seed: int = 0) -> Model:
    """A made-up model that is sure about most candidates, so that decisions come quickly."""
    model = random_model(seed)
    parts = {
        name: replace(
            part, forest=replace(part.forest, intercept=2.0), low=part.low - 60, high=part.high + 60
        )
        for name, part in model.directions.items()
    }
    return modelfile.parse(modelfile.dump(replace(model, directions=parts)), "made up")


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    path = tmp_path / "model.json"
    path.write_bytes(modelfile.dump(sure_model()))
    return path


def test_bad_model_means_observing_only(client: Served, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"format":')
    with agent(client, tmp_path / "state", *CARAT, "--model", str(bad)) as running:
        status = running.ask("status")
        assert status["mode"] == "observe"
        assert any("no usable model" in problem for problem in status["problems"])


def test_last_good_model_stands_in_for_a_bad_one(tmp_path: Path, model_file: Path) -> None:
    places = Places(tmp_path, tmp_path / "state")
    places.state_dir.mkdir()
    good = load_predictor("forest", str(model_file), places)
    model_file.write_text("damaged")
    assert load_predictor("forest", str(model_file), places).digest == good.digest


def test_missing_model_without_a_last_good_one_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no usable model"):
        load_predictor("forest", str(tmp_path / "nowhere.json"), Places(tmp_path, tmp_path))


def test_decision_can_be_made_again_from_what_explain_shows(
    client: Served, tmp_path: Path, model_file: Path
) -> None:
    with agent(client, tmp_path / "state", *CARAT, "--model", str(model_file)) as running:
        wait_for(lambda: bool(running.events("decision")))
        shown = running.ask("explain", id=running.events("decision")[0]["id"])["decision"]
    target = Target(shown["target"], shown["fs"])
    history = [
        Window(target, w["t0"], w["t1"], Setting(w["setting"]), w["metrics"]) for w in shown["history"]
    ]
    space = lustre(4 * GIB, pages_floor=16)
    candidates = space.candidates()
    predictor = ForestPredictor(modelfile.load(model_file))
    (outlook,) = predictor.outlooks(shown["outlook"]["direction"], [history], candidates)
    best = sorted(outlook.probabilities, reverse=True)[:10]
    assert [c["p"] for c in shown["outlook"]["candidates"]] == best
    again = policy_class("carat")(space, Random(0)).propose(history[-1], outlook)
    assert again.setting.only("pages", "flight") == Setting(shown["wanted"]).only("pages", "flight")
    assert again.confidence == shown["confidence"]
    assert shown["model"] == predictor.digest
