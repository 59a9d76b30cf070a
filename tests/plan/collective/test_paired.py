"""Interleaved pairs of a command, their verdict, and what is remembered of it."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.plan.collective.paired import RunPair, chance, judge_pairs, run_pairs
from penstock.plan.collective.remembered import PastComparison, memory_path, recall, remember


def pairs(*ratios: float) -> list[RunPair]:
    return [RunPair(ratio, 1.0, False) for ratio in ratios]


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((1.2, 1.3, 1.1, 1.25, 1.2), "faster"),
        ((0.8, 0.7, 0.9, 0.85, 0.8), "slower"),
        ((1.2, 0.8, 1.3, 0.7, 1.1), "unclear"),
        ((1.2, 1.3, 1.1, 1.25), "unclear"),
        ((1.001, 1.002, 1.001, 1.003, 1.001), "unclear"),
        ((1.5, 1.4, 1.6, 1.5, 1.5, 1.4, 0.99), "faster"),
        ((1.1,) * 15 + (0.9,) * 3, "faster"),
    ],
)
def test_verdict_needs_enough_pairs_that_agree(ratios: tuple[float, ...], verdict: str) -> None:
    found = judge_pairs(pairs(*ratios))
    assert found.verdict == verdict
    assert (found.certainty >= 0.95) or verdict == "unclear"
    assert str(len(ratios)) in found.text()


def test_verdict_on_short_runs_says_not_to_rely_on_it() -> None:
    short = [RunPair(0.03, 0.02, False)] * 5
    assert "do not rely on this" in judge_pairs(short).text()
    assert "do not rely on this" not in judge_pairs(pairs(*[1.5] * 5)).text()


def test_chance_is_that_of_equal_signs() -> None:
    assert chance([0.1] * 6) == 1 / 64
    assert chance([0.1, -0.1]) == pytest.approx(0.75)
    assert chance([math.log(2)] * 20) == pytest.approx(2**-20)


def test_pairs_interleave_and_draw_their_order() -> None:
    calls: list[bool] = []

    def run(hinted: bool) -> float:
        calls.append(hinted)
        return 1.0 if hinted else 2.0

    found = run_pairs(20, 1, run)
    assert all(pair.ratio == 2.0 for pair in found)
    assert all(calls[2 * place] != calls[2 * place + 1] for place in range(20))
    assert {pair.hinted_first for pair in found} == {True, False}


def test_memory_keeps_the_last_comparison_of_a_command(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "compared.json"
    assert recall(["a"], path) is None
    for verdict in ("unclear", "faster"):
        remember(PastComparison(("a",), {"cb_nodes": "2"}, verdict, 1.2, 0.97, 5, 1.0), path)
    found = recall(["a"], path)
    assert found is not None
    assert found.verdict == "faster"
    assert recall(["b"], path) is None


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"command": ["a"]}]', "\x00"])
def test_memory_that_is_damaged_is_no_memory(tmp_path: Path, text: str) -> None:
    path = tmp_path / "compared.json"
    path.write_text(text)
    assert recall(["a"], path) is None


JOB = """
import os, sys, time
from pathlib import Path
hinted = "ROMIO_HINTS" in os.environ
with Path(sys.argv[1]).open("a") as log:
    log.write("hinted " if hinted else "plain ")
time.sleep(0.0 if hinted else 0.4)
"""


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["penstock", "run", *arguments])
    with pytest.raises(SystemExit) as leaving:
        main()
    return int(leaving.value.code or 0)


def test_run_compare_judges_remembers_and_uses(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("ROMIO_HINTS", raising=False)
    job, log = tmp_path / "job.py", tmp_path / "log"
    job.write_text(JOB)
    command = [sys.executable, "-S", str(job), str(log)]
    assert run(monkeypatch, "--compare", "5", "--cb-nodes", "2", "--json", "--", *command) == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["pairs"]) == 5
    assert all(pair["plain_s"] > 0.4 for pair in said["pairs"])
    assert log.read_text().split().count("hinted") == log.read_text().split().count("plain") == 5
    assert Path(said["remembered"]) == memory_path()
    found = recall(command)
    assert found is not None
    assert found.hints["cb_nodes"] == "2"
    # A busy machine may leave the verdict open; what is remembered decides either way.
    log.write_text("")
    assert run(monkeypatch, "--", *command) == 0
    assert log.read_text().split() == (["hinted"] if found.verdict == "faster" else ["plain"])
    assert "compared before" in capsys.readouterr().err


def test_run_compare_leaves_with_the_commands_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert run(monkeypatch, "--compare", "2", "--cb-nodes", "2", "--", "sh", "-c", "exit 3") == 3
    assert recall(["sh", "-c", "exit 3"]) is None
