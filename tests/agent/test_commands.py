"""The commands over a small stand-in for the agent: what they refuse, and what they pass on."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.agent.commands import AgentCommands, Commanded
from penstock.agent.rotated_file import numbered
from penstock.agent.settings import AgentConfig
from penstock.agent.startup import Places
from penstock.errors import MissingError, UsageError
from penstock.events import TrialEvent

TRIAL = {"gain": 1.2, "low": 1.1, "high": 1.3, "pairs": 6}


def commands(home: Path, kept: list[TrialEvent], **config: Any) -> AgentCommands:
    agent = SimpleNamespace(
        config=AgentConfig(**config),
        places=Places(home, home),
        mutex=threading.Lock(),
        note_trial=kept.append,
        event=lambda event: None,
    )
    return AgentCommands(cast(Commanded, agent))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, "1e999", None, "x"])
@pytest.mark.parametrize("key", TRIAL)
def test_trial_with_a_figure_that_is_no_number_is_refused(tmp_path: Path, key: str, value: object) -> None:
    kept: list[TrialEvent] = []
    with pytest.raises(UsageError, match="finite"):
        commands(tmp_path, kept).handle("trial", {**TRIAL, key: value})
    assert not kept
    assert commands(tmp_path, kept).handle("trial", TRIAL)["trial"]["low"] == 1.1  # type: ignore[call-overload]
    assert [trial.pairs for trial in kept] == [6]


def test_explain_searches_as_many_old_logs_as_are_kept(tmp_path: Path) -> None:
    places = Places(tmp_path, tmp_path)
    decision = {"event": "decision", "id": "d1", "time_s": 1.0, "target": "a", "reason": "x", "sentence": "y"}
    decision |= {"before": {}, "wanted": {}, "changes": []}
    places.log.write_text("")
    numbered(places.log, 7).write_text(json.dumps(decision) + "\n")
    told = commands(tmp_path, [], log_keep=8).handle("explain", {"id": "d1"})
    assert told["decision"]["id"] == "d1"  # type: ignore[call-overload]
    with pytest.raises(MissingError):
        commands(tmp_path, [], log_keep=6).handle("explain", {"id": "d1"})
