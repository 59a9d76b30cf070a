"""`agent resume TARGET --take-back` as an administrator meets it: a running agent, exit codes, documents."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rigs.agents import AgentProcess, agent, knobs, set_knob
from tests.rigs.kills import TUNE
from tests.rigs.served import Served, served, wait_for, why_not

from penstock.errors import ExitCode

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if why_not():
        pytest.skip(why_not() or "")
    with served(tmp_path_factory.mktemp("client"), layout="2.17") as running:
        yield running


@pytest.fixture
def yielded(tree: Served, tmp_path: Path) -> Iterator[AgentProcess]:
    """A tuning agent whose administrator has just set one knob of the first target."""
    client = tree.fresh()
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for(lambda: knobs(client)["flight"] != 8)
        set_knob(client, "OST0000", "flight", 77)
        wait_for(lambda: any("flight" in row["manual"] for row in running.ask("status")["targets"]))
        yield running


def resume(state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "penstock", "agent", "resume", *arguments, "--state-dir", str(state)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_take_back_tunes_the_administrators_knob_again(
    tree: Served, yielded: AgentProcess, tmp_path: Path
) -> None:
    done = resume(tmp_path / "state", tree.osc(), "--take-back")
    assert done.returncode == ExitCode.OK, done.stderr
    assert f"{tree.osc()}: tuned again: flight (original now 77)" in done.stdout.splitlines()
    wait_for(lambda: knobs(tree)["flight"] != 77)
    assert yielded.stop() == 0
    assert knobs(tree)["flight"] == 77


def test_take_back_of_a_file_system_prints_one_document(
    tree: Served, yielded: AgentProcess, tmp_path: Path
) -> None:
    fs = tree.osc().split("-")[0]
    found = json.loads(resume(tmp_path / "state", fs, "--take-back", "--json").stdout)
    assert found["taken_back"] == [{"target": tree.osc(), "knobs": {"flight": 77}}]
    assert "paused" in found


def test_take_back_refuses_what_it_cannot_name(yielded: AgentProcess, tmp_path: Path) -> None:
    everything = resume(tmp_path / "state", "--take-back")
    assert everything.returncode == ExitCode.USAGE
    assert "--take-back needs the TARGET" in everything.stderr
    stranger = resume(tmp_path / "state", "nowhere", "--take-back")
    assert stranger.returncode == ExitCode.NOT_FOUND
    assert "nowhere" in stranger.stderr
    assert len(stranger.stderr.splitlines()) == 1
    assert any("flight" in row["manual"] for row in yielded.ask("status")["targets"])
