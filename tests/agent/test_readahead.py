"""Readahead under the agent: nothing unless the configuration names it, given back at the end and after a kill."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.rigs.agents import EAGER, agent, recover
from tests.rigs.served import Served, wait_for

pytestmark = pytest.mark.live
FILES = {
    "ahead_total": "max_read_ahead_mb",
    "ahead_file": "max_read_ahead_per_file_mb",
    "ahead_whole": "max_read_ahead_whole_mb",
    "ahead_async": "read_ahead_async_file_threshold_mb",
}
READAHEAD = EAGER.replace("[guard]", '[scope]\nkinds = ["readahead"]\n[guard]')


def settings(client: Served) -> Mapping[str, int]:
    (mount,) = (client.root / "sys/fs/lustre/llite").iterdir()
    return {knob_id: int((mount / file).read_text()) for knob_id, file in FILES.items()}


def penstock(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_check_finds_readahead_only_where_the_configuration_names_it(client: Served, tmp_path: Path) -> None:
    config = tmp_path / "agent.toml"
    config.write_text('[scope]\nkinds = ["data", "readahead"]\n')
    asked = ["agent", "check", "--root", str(client.root), "--state-dir", str(tmp_path / "state"), "--json"]
    silent = json.loads(penstock(*asked).stdout)
    assert not [one for one in silent["targets"] if "readahead" in one["target"]]
    found = json.loads(penstock(*asked, "--config", str(config)).stdout)
    knobs = {knob["knob_id"]: knob["verdict"] for one in found["targets"] for knob in one["knobs"]}
    untried = "left as it is: no policy tries it"
    verdicts = ("may be tuned", "may be tuned", untried, untried)
    assert knobs.items() >= dict(zip(FILES, verdicts, strict=True)).items()


def test_row_38_nothing_of_readahead_moves_unless_it_is_named(client: Served, tmp_path: Path) -> None:
    before = settings(client)
    with agent(client, tmp_path / "state", "--mode", "tune", "--policy", "random") as running:
        wait_for(lambda: len(running.events("decision")) > 5)
        assert settings(client) == before
        assert {row["kind"] for row in running.ask("status")["targets"]} == {"data-path"}


def test_readahead_is_tuned_shown_and_given_back(client: Served, tmp_path: Path) -> None:
    before = settings(client)
    (tmp_path / "state.toml").write_text(READAHEAD)
    with agent(client, tmp_path / "state", "--mode", "tune", "--policy", "random") as running:
        wait_for(lambda: settings(client) != before)
        rows = {row["kind"]: row for row in running.ask("status")["targets"]}
        assert rows["readahead"]["in_scope"]
        assert rows["readahead"]["read_bytes_per_s"] > 0
        assert not rows["data-path"]["in_scope"]
        wait_for(lambda: bool(running.events("decision")))
        event = running.events("decision")[0]
        assert set(event["wanted"]) <= set(FILES)
        said = penstock("agent", "explain", event["id"], "--state-dir", str(tmp_path / "state"))
        assert event["id"] in said.stdout + said.stderr
        top = penstock("agent", "top", "--once", "--state-dir", str(tmp_path / "state"))
        assert "readahead" in top.stdout
        assert running.stop() == 0
    assert settings(client) == before


def test_killed_agent_leaves_readahead_to_be_restored(client: Served, tmp_path: Path) -> None:
    before = settings(client)
    (tmp_path / "state.toml").write_text(READAHEAD)
    with agent(client, tmp_path / "state", "--mode", "tune", "--policy", "random") as running:
        wait_for(lambda: settings(client) != before)
        running.process.kill()
        running.process.wait()
    outcome = recover(client, tmp_path / "state")
    assert outcome.returncode == 0, outcome.stderr
    assert settings(client) == before
    assert recover(client, tmp_path / "state", "verify").returncode == 0


def test_snapshot_lists_readahead_with_its_mount(client: Served) -> None:
    asked = ["snapshot", "--root", str(client.root)]
    (mount,) = json.loads(penstock(*asked, "--json").stdout)["llite"]
    assert {knob_id: mount["readahead"][knob_id] for knob_id in FILES} == settings(client)
    assert mount["readahead"]["read_bytes"] > 0
    assert mount["readahead"]["carried_bytes"] > 0
    assert f"ahead_file={settings(client)['ahead_file']}" in penstock(*asked).stdout.replace("\n", " ")
