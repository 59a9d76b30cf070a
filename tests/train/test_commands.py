"""The verbs of learning as users type them, in one process: what they print, write and refuse."""

from __future__ import annotations

import csv
import json
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from penstock.cli.main import cli
from penstock.errors import DataError, MissingError, ModelFileError, UsageError
from penstock.predict import modelfile
from penstock.testing.made_models import random_model
from penstock.train.samples import samples
from penstock.train.table import read_table


def run(*args: object) -> Result:
    result = CliRunner().invoke(cli, [str(arg) for arg in args], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.json"
    path.write_bytes(modelfile.dump(random_model()))
    return path


def test_fit_predict_evaluate_and_explain_belong_together(traces: Path, tmp_path: Path) -> None:
    out, plot = tmp_path / "fitted.json", tmp_path / "plot.png"
    fitted = run(
        "train",
        "fit",
        "--data",
        traces,
        "--out",
        out,
        "--rounds",
        20,
        "--leaves",
        7,
        "--plot",
        plot,
        "--json",
    )
    document = json.loads(fitted.stdout)
    assert document["history"] == {"read": 1, "write": 8}
    assert plot.read_bytes().startswith(b"\x89PNG")
    judged = json.loads(run("model", "evaluate", out, "--data", traces, "--json").stdout)
    assert set(judged["read"]) == {
        "samples", "positives", "error", "trivial_error", "precision_at_tau", "recall_at_tau", "auc",
    }  # fmt: skip
    predicted = tmp_path / "p.csv"
    run("model", "predict", out, "--data", traces, "--out", predicted)
    with predicted.open() as lines:
        rows = list(csv.DictReader(lines))
    table = read_table(traces)
    wanted = [samples(table, direction, 0) for direction in ("read", "write")]
    assert len(rows) == sum(len(found) for found in wanted)
    wrong = sum((float(row["p"]) >= 0.5) != label for row, label in zip(rows, wanted[0].label, strict=False))
    assert wrong / len(wanted[0]) == pytest.approx(judged["read"]["error"])
    name = "{workload}/{iteration}/{ost}/{observation_no}".format(**rows[3])
    why = json.loads(run("model", "explain", out, "--data", traces, "--sample", name, "--json").stdout)
    assert why["probability"] == pytest.approx(float(rows[3]["p"]), abs=1e-6)
    said = run("model", "explain", out, "--data", traces, "--sample", name, "--pages", 4, "--flight", 2)
    assert "pages 4, flight 2" in said.stdout


def test_history_can_be_carats(traces: Path, tmp_path: Path) -> None:
    out = tmp_path / "carat.json"
    run("train", "fit", "--data", traces, "--out", out, "--history", 1, "--rounds", 5)
    assert {part.history for part in modelfile.load(out).directions.values()} == {1}


def test_evaluating_on_training_data_says_so(traces: Path, tmp_path: Path) -> None:
    out = tmp_path / "fitted.json"
    run("train", "fit", "--data", traces, "--out", out, "--rounds", 3)
    assert "flattered" in run("model", "evaluate", out, "--data", traces).stderr


def test_show_and_check_describe_a_model(model: Path, tmp_path: Path) -> None:
    shown = json.loads(run("model", "show", model, "--json", "--plot", tmp_path / "what.png").stdout)
    assert shown["read"]["trees"] == 5
    assert sum(shown["importance"]["read"].values()) <= 1.0 + 1e-9
    assert "made up" in run("model", "show", model).stdout
    assert json.loads(run("model", "check", model, "--json").stdout)["ok"] is True


def test_model_that_ships_for_the_printed_algorithms_is_shown() -> None:
    shown = json.loads(run("model", "show", "printed", "--json").stdout)
    assert "now.page_utilisation" in shown["importance"]["read"]
    assert "sound" in run("model", "check", "printed").stdout


def test_the_shipped_model_is_sound_small_and_says_where_it_comes_from() -> None:
    shown = json.loads(run("model", "show", "default", "--json").stdout)
    assert set(shown["metrics"]) == {"read", "write"}
    assert "c6525" not in json.dumps(shown["provenance"])
    assert shown["provenance"]["origin"]
    assert len(files("penstock.predict").joinpath("default.json").read_bytes()) < 600_000


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (["model", "check", "none.json"], MissingError, "no such model file"),
        (["model", "check", "bad.json"], ModelFileError, "bad.json: not a JSON document"),
        (["model", "predict", "{model}", "--data", "none", "--out", "p.csv"], DataError, "not a directory"),
        (
            ["model", "predict", "{model}", "--data", "{traces}", "--out", "no/p.csv"],
            MissingError,
            "no such dir",
        ),
        (
            ["model", "explain", "{model}", "--data", "{traces}", "--sample", "x"],
            UsageError,
            "is not WORKLOAD",
        ),
        (
            ["model", "explain", "{model}", "--data", "{traces}", "--sample", "a/1/2/3"],
            DataError,
            "no row a/1/2/3",
        ),
        (["train", "fit", "--data", "{traces}", "--out", "no/m.json"], MissingError, "no such directory"),
        (["train", "compare", "--data", "{traces}", "--kinds", "smv"], UsageError, 'did you mean "svm"'),
        (["train", "study", "--data", "{traces}", "--histories", "-1"], UsageError, "whole numbers"),
        (["train", "collect", "--out", "d", "--live"], UsageError, "--change-knobs-at-random"),
        (["train", "collect", "--out", "d", "--live", "--worlds", "2"], UsageError, "give one of them"),
        (["train", "collect", "--out", "d", "--cluster", "drawn"], UsageError, "drawn by --worlds"),
        (["train", "collect", "--out", "d", "--workloads", "s_rd_sq_1x"], UsageError, "unknown workload"),
    ],
)
def test_bad_input_gets_one_line(
    args: list[str], error: type[Exception], message: str, model: Path, traces: Path
) -> None:
    Path("bad.json").write_bytes(b"\x80\x04")
    filled = [arg.format(model=model, traces=traces) for arg in args]
    result = CliRunner().invoke(cli, filled)
    assert isinstance(result.exception, error), result.output
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)
