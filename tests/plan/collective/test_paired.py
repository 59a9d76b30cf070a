"""Interleaved pairs of a command, their verdict, and what is remembered of it."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import cast

import pytest

from penstock.cli.main import main
from penstock.plan.collective.access import Access
from penstock.plan.collective.advise import HintAdvice, Ranked, learn_from
from penstock.plan.collective.candidates import candidates
from penstock.plan.collective.learned import promise_record
from penstock.plan.collective.outputs import write_all
from penstock.plan.collective.paired import RunPair, chance, judge_pairs, run_pairs
from penstock.plan.collective.predictor import CallForecast
from penstock.plan.collective.remembered import (
    MOST_OF_A_COMMAND,
    MOST_REMEMBERED,
    PastComparison,
    forget,
    history,
    memory_path,
    recall,
    remember,
)
from penstock.plan.collective.wrap import WrappedRun
from penstock.units import KIB, MIB


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
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    words = ["--compare", "2", "--cb-nodes", "2"]
    assert run(monkeypatch, *words, "--", "sh", "-c", "exit 3") == 3
    assert capsys.readouterr().err == "penstock: the command failed (3): nothing was compared\n"
    assert run(monkeypatch, *words, "--json", "--", "sh", "-c", "exit 3") == 3
    said = json.loads(capsys.readouterr().out)
    assert (said["verdict"], said["exit_code"], said["pairs"]) == (None, 3, [])
    assert recall(["sh", "-c", "exit 3"]) is None


def compared(gain: float, promised: float | None, command: str = "a", pairs: int = 5) -> PastComparison:
    verdict = "faster" if gain > 1.1 else "slower" if gain < 0.9 else "unclear"
    return PastComparison((command,), {"cb_nodes": "2"}, verdict, gain, 0.97, pairs, 1.0, promised, True)


def test_memory_is_bounded_by_command_and_in_all(tmp_path: Path) -> None:
    path = tmp_path / "compared.json"
    remember(compared(1.0, None, "rare"), path)
    for number in range(MOST_OF_A_COMMAND + 5):
        remember(compared(1 + number / 100, 1.5), path)
    kept = history(path)
    assert len(kept) == MOST_OF_A_COMMAND + 1
    assert recall(["rare"], path) is not None
    assert kept[-1].gain == pytest.approx(1 + (MOST_OF_A_COMMAND + 4) / 100)
    path.write_text(json.dumps([asdict(compared(1.0, None, str(n))) for n in range(MOST_REMEMBERED + 9)]))
    assert len(history(path)) == MOST_REMEMBERED


def test_memory_of_an_older_version_is_read(tmp_path: Path) -> None:
    path = tmp_path / "compared.json"
    entry = asdict(compared(1.2, None))
    del entry["promised"], entry["trusted"]
    path.write_text(json.dumps([entry, {**entry, "gain": float("nan")}, {**entry, "pairs": "x"}]))
    assert history(path) == [replace(compared(1.2, None), trusted=False)]


def test_forgetting_one_command_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "compared.json"
    for name in ("a", "a", "b"):
        remember(compared(1.2, 1.5, name), path)
    assert forget(["a"], path) == 2
    assert [one.command for one in history(path)] == [("b",)]
    assert forget(None, path) == 1
    assert not path.exists()


def test_promises_are_corrected_by_what_was_measured() -> None:
    """A promise that is kept stays, one that never is comes to count for nothing; own hints say nothing."""
    assert promise_record([]).corrected(1.5) == 1.5
    assert promise_record([compared(0.8, None)] * 9).share == 1
    kept, broken, hurt = (promise_record([compared(gain, 1.4)] * 8) for gain in (1.4, 1.0, 0.8))
    assert kept.corrected(1.4) == pytest.approx(1.4, abs=0.01)
    assert broken.corrected(1.4) < 1.05
    assert hurt.corrected(1.4) < 1.0
    shares = [promise_record([compared(1.0, 1.4)] * count).share for count in range(5)]
    assert shares == sorted(shares, reverse=True)
    assert (hurt.faster, hurt.slower, hurt.comparisons) == (0, 8, 8)


@pytest.mark.parametrize(
    ("seconds", "count", "verified", "doubt"),
    [
        (2.0, 5, True, None),
        (0.01, 5, True, "shorter than a second"),
        (2.0, 4, True, "fewer than 5 pairs"),
        (2.0, 5, None, "could not be verified"),
        (2.0, 5, False, "did not take effect"),
    ],
)
def test_promises_are_corrected_by_reliable_comparisons_only(
    seconds: float, count: int, verified: bool | None, doubt: str | None
) -> None:
    found = judge_pairs([RunPair(seconds, seconds / 2, False)] * count).doubt(verified)
    assert (found is None) if doubt is None else (found is not None and doubt in found)
    untrusted = [replace(compared(2.0, 1.3), trusted=False)] * 5
    assert promise_record(untrusted).share == 1
    assert promise_record(untrusted).comparisons == 0


def test_comparison_whose_hints_did_nothing_is_not_remembered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    ignored = WrappedRun(0, 2.0, (), False, "4 of 4 ranks wrote")
    monkeypatch.setattr("penstock.cli.run._run_once", lambda *_: ignored)
    assert run(monkeypatch, "--compare", "5", "--cb-nodes", "2", "--json", "--", "true") == 6
    said = json.loads(capsys.readouterr().out)
    assert said["remembered"] is None
    assert "did not take effect" in said["doubt"]
    assert recall(["true"]) is None


def test_advice_that_never_helped_is_given_no_more() -> None:
    access = Access(4, 1, MIB, 16 * KIB)
    ranked = [Ranked(option, cast(CallForecast, None)) for option in candidates(access)]
    chosen = HintAdvice(access, ranked[0], ranked[-1], tuple(ranked), ("why",), promised=1.3)
    assert learn_from(chosen, promise_record([])).expected == 1.3
    better = learn_from(chosen, promise_record([compared(1.2, 1.3)] * 3))
    assert better.chosen is not None
    assert better.expected is not None
    assert 1.1 < better.expected < 1.3
    # What is learnt from later is the promise as the forecast made it.
    assert better.promised == 1.3
    worse = learn_from(chosen, promise_record([compared(0.9, 1.3)] * 6))
    assert worse.chosen is None
    assert "no gain is left" in worse.reasons[-1]
    assert "helped in 0" in worse.reasons[-1]


def plan(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["penstock", "plan", "collective", *arguments])
    with pytest.raises(SystemExit) as leaving:
        main()
    return int(leaving.value.code or 0)


def test_a_promise_in_a_hints_file_is_kept_shown_and_forgotten(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (hints, *_) = write_all(
        tmp_path / "hints", {"cb_nodes": "2", "romio_cb_write": "enable", "cb_config_list": "*:*"}, 1.25
    )
    words = ["--compare", "1", "--json", "--hints", str(hints)]
    assert run(monkeypatch, *words, "--", "true") == 0
    assert json.loads(capsys.readouterr().out)["promised"] == 1.25
    # With another hint added it is not what was advised.
    assert run(monkeypatch, *words, "--cb-buffer-size", "1m", "--", "true") == 0
    assert json.loads(capsys.readouterr().out)["promised"] is None
    assert plan(monkeypatch, "--history") == 0
    said = capsys.readouterr().out
    assert "1.25" in said
    # Such short runs prove nothing, so promises stay as they are.
    assert "no comparison corrects promises yet" in said
    assert plan(monkeypatch, "--history", "--json", "--command", "true") == 0
    assert len(json.loads(capsys.readouterr().out)["comparisons"]) == 2
    assert plan(monkeypatch, "--history", "--forget") == 2
    assert "name one of them" in capsys.readouterr().err
    assert plan(monkeypatch, "--forget", "--command", "true") == 0
    assert "forgot 2 comparisons" in capsys.readouterr().err
    assert plan(monkeypatch, "--history") == 0
    assert "no comparison corrects promises yet" in capsys.readouterr().out
    assert plan(monkeypatch, "--ranks", "4") == 2
    assert "--profile" in capsys.readouterr().err
