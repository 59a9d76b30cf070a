"""A model fitted on a campaign on a mount: of its knobs, for policies that ask models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from penstock.cli.train import train
from penstock.decide.policies.greedy import GreedyPolicy
from penstock.decide.tuner import Tuner
from penstock.errors import DataError, UsageError
from penstock.knobs import KnobSpace, Setting
from penstock.predict import modelfile
from penstock.predict.model import ForestPredictor
from penstock.snapshot import Target
from penstock.spaces import fuse, nfs
from penstock.train.judge import judge
from penstock.train.mount_trials import around_best
from penstock.train.mountsamples import read_windows
from penstock.window import Window

FAST = ["--rounds", "20", "--leaves", "7"]


def campaign(directory: Path, space: KnobSpace, rounds: int = 6) -> Path:
    """Reads go with the square root of the readahead, whatever else is set; writes are the same everywhere."""
    rng = Random(1)
    home = space.default.only(*space.searched)
    windows: list[dict[str, Any]] = []
    for work in ("read", "write"):
        for number in range(rounds):
            for setting in [home, *rng.sample(list(space.candidates()), 3)]:
                pace = 1e7 * setting["ahead"] ** 0.5 if work == "read" else 1e8
                for _ in range(4):
                    metrics = {f"{work}.bytes": 0.5 * pace * rng.uniform(0.97, 1.03), "flight.requests": 4.0}
                    windows.append(
                        {"workload": work, "round": number, "setting": dict(setting), "seconds": 0.5}
                        | {"metrics": metrics}
                    )
    directory.mkdir()
    document: dict[str, Any] = {"format": "penstock-campaign", "space": space.name, "default": dict(home)}
    (directory / "campaign.json").write_text(json.dumps(document | {"rows": [], "windows": windows}))
    return directory


def fit(data: Path, out: Path, *options: str) -> Any:
    return CliRunner().invoke(
        train, ["fit", "--data", str(data), "--out", str(out), "--json", *FAST, *options]
    )


@pytest.mark.parametrize("space", [fuse(), nfs()], ids=lambda space: space.name)
def test_a_campaign_becomes_a_model_of_its_knobs(tmp_path: Path, space: KnobSpace) -> None:
    out = tmp_path / "model.json"
    done = fit(campaign(tmp_path / "data", space), out)
    assert done.exit_code == 0, done.output
    model = modelfile.load(out)
    assert (model.space, tuple(model.knobs)) == (space.name, space.searched)
    assert list(model.directions) == ["read"]
    held_out = json.loads(done.stdout)["held_out"]["read"]
    assert held_out["error"] < held_out["trivial_error"] / 2
    assert model.provenance["runs"] == [f"data/{w}/{n}" for w in ("read", "write") for n in range(6)]


def test_policies_that_ask_models_turn_the_knobs_of_a_mount(tmp_path: Path) -> None:
    space, out = fuse(), tmp_path / "model.json"
    assert fit(campaign(tmp_path / "data", space), out).exit_code == 0
    predictor = ForestPredictor(modelfile.load(out))
    tuner = Tuner(GreedyPolicy, predictor=predictor)

    def window(t_s: float, way: str) -> Window:
        metrics = {f"{way}.bytes": 0.5e7 * 128**0.5, "flight.requests": 4.0}
        return Window(Target("mount", "/mnt"), t_s, t_s + 0.5, space.default, metrics)

    wanted = [d for i in range(4) for d in tuner.step([window(i / 2, "read")], lambda _: space, i / 2)]
    assert max(decision.wanted["ahead"] for decision in wanted) >= 512
    # Nothing was learned of writes, so nothing is changed for them.
    (decision,) = tuner.step([window(3.0, "write")], lambda _: space, 3.0)
    assert (decision.reason, decision.wanted) == ("out-of-range", space.default)


def broken(change: Callable[[dict[str, Any]], object], directory: Path) -> Path:
    campaign(directory, fuse())
    path = directory / "campaign.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return directory


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.pop("windows"), "collect it again"),
        (lambda d: d["windows"][3].pop("setting"), "damaged"),
        (lambda d: d["windows"][3].update(seconds=0), "damaged"),
        (lambda d: d.update(windows=[1]), "damaged"),
        (lambda d: d.update(space="zfs"), "zfs"),
        (lambda d: d.update(format="x"), "not a campaign"),
    ],
)
def test_bad_campaigns_end_in_one_line(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    done = fit(broken(change, tmp_path / "data"), tmp_path / "model.json")
    assert isinstance(done.exception, DataError)
    assert said in str(done.exception) and "\n" not in str(done.exception)
    assert not (tmp_path / "model.json").exists()


def test_campaigns_are_fitted_alone_and_with_our_features(tmp_path: Path) -> None:
    data, out = campaign(tmp_path / "data", fuse()), tmp_path / "model.json"
    (tmp_path / "other").mkdir()
    assert isinstance(fit(data, out, "--data", str(tmp_path / "other")).exception, UsageError)
    assert isinstance(fit(data, out, "--recipe", "printed").exception, UsageError)


def test_a_judgement_knows_when_it_is_no_better_than_guessing() -> None:
    label = np.array([True, False, False, False])
    assert judge(label, np.array([0.1, 0.9, 0.1, 0.1])).only_guesses
    assert not judge(label, np.array([0.9, 0.1, 0.1, 0.1])).only_guesses


def test_rounds_are_read_as_they_were_held(tmp_path: Path) -> None:
    found = read_windows([campaign(tmp_path / "data", fuse(), rounds=2)])
    assert found.count == 2 * 2 * 4 * 4
    assert all(len(settings) == 4 for settings in found.rounds.values())


def test_the_second_half_of_a_campaign_goes_around_the_best() -> None:
    space = fuse()
    home = Setting(ahead=128, flight=64, dirty_ppm=10_000)
    best = home.replace(ahead=4096)
    rates = {home: 1.0, best: 3.0}
    for _ in range(3):
        found = around_best(space, rates)
        assert found is not None
        assert sum(found[knob_id] != best[knob_id] for knob_id in best) == 1
        rates[found] = 2.0
    assert around_best(nfs(), {Setting(ahead=value): 1.0 for value in nfs()["ahead"].values}) is None
