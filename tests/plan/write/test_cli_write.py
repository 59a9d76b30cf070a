"""`penstock plan write` as users and scripts meet it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from penstock.cli.main import main

CASE = ["--system", "titan", "--nodes", "128", "--cores", "8", "--burst", "100MB"]


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["penstock", "plan", *arguments])
    with pytest.raises(SystemExit) as leaving:
        main()
    return int(leaving.value.code or 0)


@pytest.fixture
def write(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> dict[str, Any]:
        assert run(monkeypatch, "write", *arguments, "--json") == 0
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    return call


def test_plan_write_json_follows_the_contract(write: Any) -> None:
    said = write(*CASE)
    assert {"seconds", "model", "features", "contributions"} <= set(said)
    assert {"m", "n", "K", "n_r", "s_r", "n_ost", "n_oss", "s_ost", "s_oss"} <= set(said["features"])
    assert {"s_r*n*K", "(n*K)*(s_r*n*K)", "(s_r*n*K)*n_oss"} <= set(said["features"])
    assert said["features"]["K"] == 100
    assert said["features"]["s_r"] == 1
    assert sum(said["contributions"].values()) == pytest.approx(said["seconds"])


def test_plan_write_cetus_holds_its_own_features(write: Any) -> None:
    said = write("--system", "cetus", "--nodes", "128", "--cores", "16", "--burst", "100MB")
    names = {
        "m",
        "n",
        "K",
        "n_sub",
        "n_b",
        "n_l",
        "n_io",
        "s_b",
        "s_l",
        "s_io",
        "n_d",
        "n_s",
        "n_nsd",
        "n_nsds",
    }
    assert names <= set(said["features"])
    assert "advice" not in said


def test_plan_write_adapt_and_budget_json(write: Any) -> None:
    said = write(*CASE, "--locations", "compact", "--adapt", "--budget", "10%")
    advice = said["advice"]
    assert {"aggregators", "per_aggregator_bytes", "placement", "stripes", "seconds", "speedup"} <= set(
        advice
    )
    assert advice["aggregators"] * advice["per_aggregator_bytes"] >= 128 * 8 * 100 * 10**6
    assert advice["speedup"] == pytest.approx(said["seconds"] / advice["seconds"])
    assert said["checkpoint"]["interval_s"] == pytest.approx(said["seconds"] / 0.1)


def test_plan_write_flags_extrapolation_and_succeeds(write: Any) -> None:
    said = write("--system", "titan", "--nodes", "2000", "--cores", "8", "--burst", "1GB")
    assert [entry["name"] for entry in said["outside_training_range"]] == ["m"]
    assert write(*CASE, "--locations", "compact")["outside_training_range"] == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--nodes", "0"], 2, "--nodes 0"),
        (["--cores", "0"], 2, "--cores 0"),
        (["--stripes", "1009"], 2, "--stripes 1009: titan has 1 to 1008 OSTs"),
        (["--stripes", "0"], 2, "--stripes 0"),
        (["--stripe-size", "100000"], 2, "not a multiple of 64 KiB"),
        (["--burst", "4Q"], 2, "4Q"),
        (["--burst", "nan"], 2, "nan"),
        (["--burst", "1e400"], 2, "1e400"),
        (["--system", "titn"], 2, 'did you mean "titan"'),
        (["--system", "gone.toml"], 3, "gone.toml"),
        (["--locations", "gone"], 3, "gone"),
        (["--model", "gone.json"], 3, "gone.json"),
        (["--budget", "200%"], 2, "--budget"),
        (["--adapt", "--hint", "cb_nodez=3"], 2, 'did you mean "cb_nodes"'),
        (["--job-dir", "x"], 2, "--job-dir"),
        (["--adpat"], 2, "--adapt"),
    ],
)
def test_plan_write_refuses_bad_input(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    assert run(monkeypatch, "write", *CASE, *arguments) == code
    streams = capsys.readouterr()
    assert streams.out == ""
    assert message in streams.err
    assert streams.err.count("\n") == 1


def test_plan_write_needs_a_system_for_the_published_models(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "write", *CASE[2:]) == 2
    assert "--system is missing" in capsys.readouterr().err


def test_plan_write_shows_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["write", *CASE, "--locations", "compact", "--adapt", "--budget", "0.1", "--job-dir", "job"]
    assert run(monkeypatch, *arguments) == 0
    streams = capsys.readouterr()
    assert "s_r*n*K" in streams.out
    assert "lfs setstripe" in streams.out
    assert "Checkpoint every" in streams.out
    assert "romio_hints" in streams.err


def test_plan_published_needs_no_learning_library() -> None:
    check = (
        "import sys; sys.argv = ['penstock', 'plan', 'write', *sys.argv[1:], '--json']\n"
        "from penstock.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as leaving: assert not leaving.code\n"
        "assert not {'sklearn', 'scipy', 'matplotlib'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", check, *CASE, "--adapt"], check=True, stdout=subprocess.DEVNULL)
