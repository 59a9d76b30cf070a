"""What tuning is worth: a trial on a running agent, and what report, status and explain make of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.logged_events import as_logged
from tests.rigs.agents import agent
from tests.rigs.served import Served, wait_for

from penstock.agent.summary import summarise
from penstock.cli import decision_lines
from penstock.events import DecisionEvent, EffectEvent
from penstock.serve.status import effect_sentence

pytestmark = pytest.mark.live


def command(verb: str, state: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "penstock", "agent", verb, "--state-dir", str(state), *more]


def test_trial_shows_progress_and_becomes_the_headline(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", "--mode", "advise", "--policy", "random") as running:
        wait_for(lambda: running.ask("status")["ticks"] > 2)
        times = ("--on", "500ms", "--off", "500ms", "--for", "6s")
        done = subprocess.run(
            command("trial", running.state_dir, *times), capture_output=True, text=True, check=True
        )
        assert "pair 1 of 6: " in done.stderr
        assert "pair 6 of 6: " in done.stderr
        assert "so far: " in done.stderr
        assert done.stdout.startswith(("no difference: ", "undecided: ", "tuning "))
        status = running.ask("status")
        assert (status["mode"], status["paused"]) == ("advise", [])
        assert status["effect"]["kind"] == "switchback"
        # A busy machine may starve the served client: its empty blocks tell nothing.
        assert status["effect"]["pairs"] <= 6
        told = subprocess.run(
            command("report", running.state_dir, "--json"), capture_output=True, text=True, check=True
        )
        assert json.loads(told.stdout)["effect"] == status["effect"]
        forget = command("trial", running.state_dir, "--forget", "--json")
        done = subprocess.run(forget, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["forgotten"]["pairs"] == status["effect"]["pairs"]
        again = subprocess.run(forget, capture_output=True, text=True, check=True)
        assert json.loads(again.stdout) == {"forgotten": None}
        assert (running.ask("status")["effect"] or {}).get("kind") != "switchback"
        told = subprocess.run(
            command("report", running.state_dir, "--json"), capture_output=True, text=True, check=True
        )
        assert (json.loads(told.stdout)["effect"] or {}).get("kind") != "switchback"
        assert running.stop() == 0


def test_trial_that_is_interrupted_gives_the_verdict_so_far(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", "--mode", "observe", "--policy", "random") as running:
        times = ("--on", "300ms", "--off", "300ms", "--for", "10m")
        trial = subprocess.Popen(
            command("trial", running.state_dir, *times),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert trial.stderr is not None
        # A busy machine may starve the served client: its empty blocks tell nothing.
        while "times as fast" not in trial.stderr.readline():
            assert trial.poll() is None
        trial.send_signal(signal.SIGINT)
        verdict, _ = trial.communicate(timeout=200)
        assert trial.returncode == 130
        assert verdict.startswith(("no difference: ", "undecided: ", "tuning "))
        wait_for(lambda: running.ask("status")["mode"] == "observe")
        assert running.ask("status")["paused"] == []
        assert running.ask("status")["effect"]["kind"] == "switchback"


def test_report_leads_with_before_and_after_where_there_was_no_trial() -> None:
    decision = {
        "event": "decision",
        "target": "a",
        "changes": ["x"],
        "made": ["x"],
        "reason": "try",
        "time_s": 1.0,
    }
    effect = {"event": "effect", "target": "a", "time_s": 2.0, "decision": "d1"}
    judged = {**effect, "before_bytes_per_s": 1e6, "after_bytes_per_s": 2e6, "gain": 2.0}
    summary = summarise(as_logged([{**decision, "id": "d1"}, judged]), 0.0, 9.0)
    unknown = {"kind": "before/after", "gain": 2.0, "low": None, "high": None, "verdict": "undecided"}
    assert summary.effect == {**unknown, "changes": 1}
    assert summary.targets[0].last_id == "d1"
    trial = {"event": "trial", "time_s": 3.0, "gain": 1.1, "low": 1.05, "high": 1.3, "pairs": 5}
    found = summarise(as_logged([judged, trial]), 0.0, 9.0).effect
    assert found is not None
    assert (found["kind"], found["gain"], found["verdict"]) == ("switchback", 1.1, "gain")


def test_undecided_trial_does_not_replace_what_changes_showed() -> None:
    effect = {"event": "effect", "target": "a", "time_s": 2.0, "decision": "d1", "error": 0.05}
    judged = {**effect, "before_bytes_per_s": 1e6, "after_bytes_per_s": 2e6, "gain": 2.0}
    # As an earlier version logged it, whatever it called it.
    trial = {"event": "trial", "time_s": 3.0, "gain": 0.982, "low": 0.242, "high": 3.991, "pairs": 4}
    found = summarise(as_logged([judged, trial]), 0.0, 9.0).effect
    assert found is not None
    assert (found["kind"], found["gain"], found["verdict"]) == ("before/after", 2.0, "gain")
    assert (found["trial"]["verdict"], found["trial"]["pairs"]) == ("undecided", 4)
    assert effect_sentence(found) == (
        "effect: 2.00 times as fast, 95 % between 1.81 and 2.21 (before/after, 1 comparison; "
        "a trial of 4 pairs was undecided, between 0.24 and 3.99 times as fast)"
    )
    alone = summarise(as_logged([trial]), 0.0, 9.0).effect
    assert alone is not None
    assert (alone["kind"], alone["verdict"]) == ("switchback", "undecided")
    forgotten = summarise(
        as_logged([judged, trial, {"event": "trial_forgotten", "time_s": 4.0}]), 0.0, 9.0
    ).effect
    assert forgotten is not None
    assert "trial" not in forgotten


def explanation(decision: dict[str, Any], effect: dict[str, Any] | None) -> list[str]:
    """What a person reads of a decision that lies in a log like this."""
    (logged,) = as_logged([{"event": "decision", "time_s": 1.0, **decision}])
    assert isinstance(logged, DecisionEvent)
    if effect is None:
        return decision_lines.explanation(logged, None)
    (judged,) = as_logged([{"event": "effect", "time_s": 2.0, "decision": "d1", **effect}])
    assert isinstance(judged, EffectEvent)
    return decision_lines.explanation(logged, judged)


def test_explain_speaks_in_rates_and_ratios() -> None:
    candidates = [{"pages": 256, "flight": 64, "p": 0.7, "gain_log2": 1.0, "spread_log2": 0.5}]
    window = {"t0": 0.0, "t1": 0.5, "setting": {"pages": 1024}, "metrics": {"read.bytes": 5e7}}
    decision: dict[str, Any] = {
        "id": "d1",
        "target": "a",
        "mode": "tune",
        "changes": ["flight 8 -> 64"],
        "made": ["flight 8 -> 64"],
        "sentence": "try it",
        "reason": "promising",
        "confidence": None,
        "error": None,
        "evidence": {"gain_log2": 1.0, "best_log2": 26.575, "trials": 2.0},
        "history": [window],
        "outlook": {"direction": "read", "candidates": candidates},
    }
    lines = explanation(decision, None)
    assert "evidence: gain = 2.00 times" in lines
    assert "evidence: best = 100.0 MB/s" in lines
    assert "model:    pages=256 flight=64: 2.00 times (1.41 to 2.83), 200.0 MB/s (141.4 to 282.8)" in lines
    assert not any("log2" in line for line in lines)
    # The setting in force is itself said to bring twice what a gain of 1 stands for.
    surface = {"knobs": {"pages": [256, 1024], "flight": [64, 8]}, "gain_log2": [1.0, 1.0]}
    mapped = {**decision["outlook"], "map": surface}
    known = {**window, "setting": {"pages": 1024, "flight": 8, "dirty": 2000}}
    lines = explanation({**decision, "history": [known], "outlook": mapped}, None)
    assert "model:    pages=256 flight=64: 2.00 times (1.41 to 2.83), 100.0 MB/s (70.7 to 141.4)" in lines
    grouped = {**decision, "unit": "scratch / reads of 1 MiB", "work": "reads of 1 MiB"}
    assert (
        "for:      the group scratch / reads of 1 MiB, windows are its targets' mean"
        in explanation(grouped, None)
    )  # fmt: skip
    alone = {**decision, "unit": "scratch / a", "work": "reads of 1 MiB"}
    assert "for:      this target alone (reads of 1 MiB)" in explanation(alone, None)
    # What memory did of it, and what that leaves unsent; logs of earlier versions do not tell.
    effect = {"before_bytes_per_s": 85e6, "after_bytes_per_s": 250e6, "gain": 2.94, "switchback": False}
    told = explanation(decision, {**effect, "memory_bytes_per_s": 2.26e8, "unsent_bytes": 1.8e8})
    assert told[-1].strip() == "226.0 MB/s of it were written over in memory; 180 MB wait unsent"
    assert explanation(decision, effect)[-1].startswith("effect:   85.0 -> 250.0 MB/s")
