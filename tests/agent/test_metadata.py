"""The agent on metadata: off unless the configuration names it, in operations a second, given back at the end."""

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
    "rpcs": "mdc/*/max_rpcs_in_flight",
    "mod_rpcs": "mdc/*/max_mod_rpcs_in_flight",
    "statahead": "llite/*/statahead_max",
}
METADATA = EAGER.replace("[guard]", '[scope]\nkinds = ["metadata"]\n[guard]')


def settings(client: Served) -> Mapping[str, int]:
    found = {knob_id: next((client.root / "sys/fs/lustre").glob(place)) for knob_id, place in FILES.items()}
    return {knob_id: int(path.read_text()) for knob_id, path in found.items()}


def check(client: Served, state: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", "agent", "check", "--root", str(client.root)]
    command += ["--state-dir", str(state), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_check_finds_metadata_only_where_the_configuration_names_it(client: Served, tmp_path: Path) -> None:
    config = tmp_path / "agent.toml"
    config.write_text('[scope]\nkinds = ["data", "metadata"]\n')
    silent = json.loads(check(client, tmp_path / "state", "--json").stdout)
    assert not [one for one in silent["targets"] if "mdc" in one["target"] or "statahead" in one["target"]]
    found = json.loads(check(client, tmp_path / "state", "--json", "--config", str(config)).stdout)
    knobs = {knob["knob_id"]: knob["verdict"] for one in found["targets"] for knob in one["knobs"]}
    assert (
        knobs.items()
        >= {"rpcs": "may be tuned", "mod_rpcs": "may be tuned", "statahead": "may be tuned"}.items()
    )


def test_row_38_nothing_of_metadata_moves_unless_it_is_named(client: Served, tmp_path: Path) -> None:
    before = settings(client)
    with agent(client, tmp_path / "state", "--mode", "tune", "--policy", "random") as running:
        wait_for(lambda: len(running.events("decision")) > 5)
        assert settings(client) == before
        assert {row["kind"] for row in running.ask("status")["targets"]} == {"data-path"}
    recover(client, tmp_path / "state")
    assert settings(client) == before


def test_metadata_is_tuned_shown_in_operations_and_given_back(client: Served, tmp_path: Path) -> None:
    before = settings(client)
    (tmp_path / "state.toml").write_text(METADATA)
    with agent(client, tmp_path / "state", "--mode", "tune", "--policy", "random") as running:
        wait_for(lambda: settings(client) != before)
        rows = {row["kind"]: row for row in running.ask("status")["targets"]}
        assert rows["mdc"]["in_scope"]
        assert rows["mdc"]["query_operations_per_s"] + rows["mdc"]["modify_operations_per_s"] > 0
        assert not rows["data-path"]["in_scope"]
        wait_for(lambda: bool(running.events("decision")))
        event = running.events("decision")[0]
        assert set(event["wanted"]) <= set(FILES)
        command = [sys.executable, "-m", "penstock", "agent"]
        place = ["--state-dir", str(tmp_path / "state")]
        said = subprocess.run(
            [*command, "explain", event["id"], *place], capture_output=True, text=True, check=False
        )
        assert event["id"] in said.stdout + said.stderr
        for shown in (["top", "--once"], ["status"]):
            screen = subprocess.run([*command, *shown, *place], capture_output=True, text=True, check=False)
            assert screen.returncode == 0, screen.stderr
            assert "op/s" in screen.stdout
        assert running.stop() == 0
    assert settings(client) == before


def test_killed_agent_leaves_metadata_to_be_restored(client: Served, tmp_path: Path) -> None:
    before = settings(client)
    (tmp_path / "state.toml").write_text(METADATA)
    with agent(client, tmp_path / "state", "--mode", "tune", "--policy", "random") as running:
        wait_for(lambda: settings(client) != before)
        running.process.kill()
        running.process.wait()
    outcome = recover(client, tmp_path / "state")
    assert outcome.returncode == 0, outcome.stderr
    assert settings(client) == before
    assert recover(client, tmp_path / "state", "verify").returncode == 0


def test_snapshot_lists_metadata_beside_the_targets(client: Served) -> None:
    command = [sys.executable, "-m", "penstock", "snapshot", "--root", str(client.root), "--json"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert [one["ost"] for one in found["targets"]] == ["OST0000", "OST0001"]
    (mdc,), (mount,) = found["mdc"], found["llite"]
    assert {"rpcs": mdc["rpcs"], "mod_rpcs": mdc["mod_rpcs"], "statahead": mount["statahead"]} == settings(
        client
    )
    assert mdc["query"]["ops"] > 0
    assert mount["name"] in mdc["name"].replace("MDT0000-mdc-", "")
