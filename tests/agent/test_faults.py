"""What a running agent must survive; docs/faults.md lists which test stands for which row."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.testing.agents import EAGER, AgentProcess, agent, knobs, recover, set_knob
from penstock.testing.crashes import instants
from penstock.testing.kills import OSTS, TUNE, all_knobs, kill_agents
from penstock.testing.served import Served, wait_for


def has_changed(running: AgentProcess, ost: str, since: int = 0) -> bool:
    changes = [event for event in running.events("decision") if f"-{ost}-" in event["target"]]
    return len(changes) > since


def wait_for_changes(running: AgentProcess, *osts: str) -> None:
    wait_for(lambda: all(has_changed(running, ost) for ost in osts))


def test_observing_is_the_default_and_touches_nothing(client: Served, tmp_path: Path) -> None:
    before = all_knobs(client)
    with agent(client, tmp_path / "state", "--policy", "random") as running:
        wait_for(lambda: running.ask("status")["ticks"] > 10)
        assert running.ask("status")["mode"] == "observe"
        assert all_knobs(client) == before
        assert running.stop() == 0
    assert running.events("decision") == []
    assert not (tmp_path / "state" / "journal.json").exists()


def test_advising_says_what_it_would_do_and_touches_nothing(client: Served, tmp_path: Path) -> None:
    before = all_knobs(client)
    with agent(client, tmp_path / "state", "--mode", "advise", "--policy", "random") as running:
        wait_for_changes(running, *OSTS)
        assert all_knobs(client) == before
        event = running.events("decision")[0]
        assert event["actual"] is None
        assert event["changes"]
        assert event["mode"] == "advise"


def test_sigterm_gives_everything_back(client: Served, tmp_path: Path) -> None:
    before = all_knobs(client)
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, *OSTS)
        assert running.stop(signal.SIGTERM) == 0
    assert all_knobs(client) == before
    assert recover(client, tmp_path / "state", "verify").returncode == 0


def test_not_on_exit_leaves_what_was_tuned_and_restore_brings_it_back(client: Served, tmp_path: Path) -> None:
    before = all_knobs(client)
    (tmp_path / "state.toml").write_text('rollback = "not_on_exit"\n' + EAGER)
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for(lambda: all_knobs(client) != before)
        assert running.stop() == 0
    assert all_knobs(client) != before
    assert recover(client, tmp_path / "state", "verify").returncode == 6
    assert recover(client, tmp_path / "state").returncode == 0
    assert all_knobs(client) == before


def test_sigkill_at_random_instants_loses_nothing(client: Served, tmp_path: Path) -> None:
    found = kill_agents(client, tmp_path / "state", instants(20, 20, 0.6))
    assert found.kills == 20
    assert found.left_tuned > 0
    assert (found.lost, found.broken_lines) == (0, 0)


def test_restarted_agent_recovers_before_it_does_anything(client: Served, tmp_path: Path) -> None:
    before = all_knobs(client)
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for(lambda: all_knobs(client) != before)
        running.stop(signal.SIGKILL)
    with agent(client, tmp_path / "state", "--mode", "observe") as running:
        assert all_knobs(client) == before
        running.stop()


def test_corrupt_journal_means_observing_only(client: Served, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "journal.json").write_text("{broken")
    before = all_knobs(client)
    with agent(client, state, *TUNE) as running:
        wait_for(lambda: running.ask("status")["ticks"] > 5)
        status = running.ask("status")
        assert status["mode"] == "observe"
        assert any("observing only" in problem for problem in status["problems"])
        assert all_knobs(client) == before


def test_full_state_directory_means_no_changes(client: Served, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a small tmpfs")
    state = tmp_path / "state"
    state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "tmpfs", str(state)], check=True)
    try:
        (tmp_path / "state.toml").write_text(EAGER)
        (state / "ballast").write_bytes(b"x" * 12288)
        before = all_knobs(client)
        with agent(client, state, *TUNE) as running:
            wait_for(lambda: running.ask("status")["ticks"] > 20)
            assert running.ask("status")["lost_log_lines"] > 0
            running.stop()
        assert all_knobs(client) == before
    finally:
        subprocess.run(["umount", "-l", str(state)], check=True)


def test_second_agent_leaves_naming_the_first(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", *TUNE) as first:
        with agent(client, tmp_path / "state", *TUNE, wait=False) as second:
            assert second.process.wait(20) == 1
            assert second.process.stderr is not None
            assert str(first.process.pid) in second.process.stderr.read()
        assert first.answers()


def test_hanging_loop_is_left_to_a_restart(client: Served, tmp_path: Path) -> None:
    policy = tmp_path / "hangs.py"
    policy.write_text(
        "import time\n"
        "from penstock.decide.policies.random_walk import RandomPolicy\n"
        "class Hangs(RandomPolicy):\n"
        "    calls = 0\n"
        "    def propose(self, window, outlook=None):\n"
        "        Hangs.calls += 1\n"
        "        if Hangs.calls > 6:\n"
        "            time.sleep(1000)\n"
        "        return super().propose(window, outlook)\n"
        "POLICY = Hangs\n"
    )
    before = all_knobs(client)
    with agent(client, tmp_path / "state", "--mode", "tune", "--policy", str(policy)) as running:
        assert running.process.wait(30) == 70
    assert recover(client, tmp_path / "state").returncode == 0
    assert all_knobs(client) == before


def test_policy_that_raises_costs_nothing(client: Served, tmp_path: Path) -> None:
    policy = tmp_path / "raises.py"
    policy.write_text(
        "from penstock.decide.policies import Policy\n"
        "class Raises(Policy):\n"
        "    name = 'raises'\n"
        "    def propose(self, window, outlook=None):\n"
        "        raise RuntimeError('no idea')\n"
        "POLICY = Raises\n"
    )
    with agent(client, tmp_path / "state", "--mode", "tune", "--policy", str(policy)) as running:
        wait_for(lambda: running.ask("status")["ticks"] > 5)
        reasons = {row.get("reason") for row in running.ask("status")["targets"]}
        assert "policy-error" in reasons


def test_blocked_read_makes_one_target_stale_and_the_others_go_on(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, *OSTS)
        client.control("block OST0000 stats\n")
        try:
            wait_for(lambda: any("stale" in line for line in running.ask("status")["problems"]))
            seen = len([e for e in running.events("decision") if "-OST0001-" in e["target"]])
            wait_for(lambda: has_changed(running, "OST0001", seen + 2))
        finally:
            client.control("clear\n")
        assert running.stop() == 0


def test_administrator_keeps_the_knob_they_set(client: Served, tmp_path: Path) -> None:
    before = all_knobs(client)
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, "OST0000")
        set_knob(client, "OST0000", "flight", 77)
        sleep(1.0)
        assert knobs(client)["flight"] == 77
        assert running.stop() == 0
    after = all_knobs(client)
    assert after["OST0000"]["flight"] == 77
    assert {**after["OST0000"], "flight": 8} == before["OST0000"]
    assert after["OST0001"] == before["OST0001"]


def test_knob_is_tuned_again_only_once_its_administrator_says_so(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, "OST0000")
        set_knob(client, "OST0000", "flight", 77)
        wait_for(lambda: "flight" in _row_of(running, client.osc())["manual"])
        running.ask("resume", target=client.osc())
        sleep(0.5)
        assert knobs(client)["flight"] == 77
        answer = running.ask("resume", target=client.osc(), take_back=True)
        assert answer["taken_back"] == [{"target": client.osc(), "knobs": {"flight": 77}}]
        wait_for(lambda: knobs(client)["flight"] != 77)
        assert [event["knobs"] for event in running.events("take_back")] == [{"flight": 77}]
        with pytest.raises(PenstockError, match="needs a target"):
            running.ask("resume", take_back=True)
        with pytest.raises(PenstockError, match="nowhere"):
            running.ask("resume", target="nowhere", take_back=True)
        assert running.stop() == 0
    assert knobs(client)["flight"] == 77


def _row_of(running: AgentProcess, name: str) -> dict[str, Any]:
    return next(row for row in running.ask("status")["targets"] if row["target"] == name)


def test_start_event_holds_the_seed_a_replay_needs(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, "OST0000")
        decision = running.events("decision")[0]
        seed = running.events("start")[0]["seed"]
    ids = {
        hashlib.sha256(f"{seed}/{decision['target']}/{decision['t_s']!r}/{count}".encode()).hexdigest()[:12]
        for count in range(1000)
    }
    assert decision["id"] in ids


def test_reconnect_with_smaller_requests_is_a_new_baseline(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, "OST0000")
        client.control("reconnect OST0000 1048576\n")
        sleep(1.0)
        assert running.stop() == 0
    assert knobs(client)["pages"] == 256
    assert knobs(client)["flight"] == 8


def test_evicted_or_deactivated_target_is_frozen(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, *OSTS)
        client.control("deactivate OST0000\n")
        sleep(0.5)
        seen = len([e for e in running.events("decision") if "-OST0000-" in e["target"]])
        sleep(0.7)
        assert len([e for e in running.events("decision") if "-OST0000-" in e["target"]]) == seen
        void = [row for row in running.ask("status")["targets"] if "-OST0000-" in row["target"]]
        assert "deactivated" in void[0]["void"]
        client.control("activate OST0000\n")
        wait_for(lambda: has_changed(running, "OST0000", seen))


def test_unmount_and_remount_are_followed(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, *OSTS)
        old = client.osc()
        client.control("remount\n")
        assert client.osc() != old
        fresh = all_knobs(client)
        wait_for(lambda: any(e["target"] == client.osc() for e in running.events("decision")))
        assert running.stop() == 0
    assert all_knobs(client) == fresh


def test_file_system_that_appears_later_is_found(client: Served, tmp_path: Path) -> None:
    client.control("unmount\n")
    with agent(client, tmp_path / "state", *TUNE) as running:
        assert running.ask("status")["targets"] == []
        client.control("remount\n")
        wait_for_changes(running, *OSTS)


def test_refused_value_is_learned_not_retried(client: Served, tmp_path: Path) -> None:
    client.control("fail OST0000 max_rpcs_in_flight write ERANGE\n")
    try:
        with agent(client, tmp_path / "state", *TUNE) as running:
            wait_for(lambda: has_changed(running, "OST0000", 5))
            refused = [e for e in running.events("decision") if e["error"] and "-OST0000-" in e["target"]]
            tried = [event["wanted"]["flight"] for event in refused if "reverted" in event["error"]]
            assert len(tried) == len(set(tried))
            running.stop()
    finally:
        client.control("clear\n")


def test_knob_without_permission_is_only_observed(client: Served, tmp_path: Path) -> None:
    client.control("fail OST0000 max_dirty_mb write EACCES\n")
    try:
        with agent(client, tmp_path / "state", *TUNE) as running:
            wait_for_changes(running, *OSTS)
            assert running.stop() == 0
    finally:
        client.control("clear\n")
    assert knobs(client)["flight"] == 8


def test_paused_targets_are_left_alone(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, *OSTS)
        running.ask("pause", target=client.osc("OST0000"))
        held = knobs(client)
        seen = len([e for e in running.events("decision") if "-OST0001-" in e["target"]])
        wait_for(lambda: has_changed(running, "OST0001", seen + 2))
        assert knobs(client) == held
        running.ask("resume", target=client.osc("OST0000"))
        wait_for(lambda: knobs(client) != held)


def test_restore_over_the_socket_gives_back_and_stays_away(client: Served, tmp_path: Path) -> None:
    before = all_knobs(client)
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, *OSTS)
        assert len(running.ask("restore")["restored"]) == 2
        assert all_knobs(client) == before
        sleep(0.5)
        assert all_knobs(client) == before


def test_restore_command_goes_through_a_running_agent(client: Served, tmp_path: Path) -> None:
    before = all_knobs(client)
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, *OSTS)
        assert running.ask("verify")["rollback"]
        outcome = recover(client, tmp_path / "state")
        assert outcome.returncode == 0, outcome.stderr
        assert len(json.loads(outcome.stdout)["restored"]) == 2
        assert all_knobs(client) == before
        assert running.ask("status")["paused"] == ["*"]
        assert running.ask("verify")["findings"] == []


def test_leaving_tune_mode_gives_back(client: Served, tmp_path: Path) -> None:
    before = all_knobs(client)
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, *OSTS)
        assert running.ask("mode", mode="advise") == {"mode": "advise"}
        assert all_knobs(client) == before


def test_explain_shows_the_numbers_of_a_decision(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, "OST0000")
        event = running.events("decision")[0]
        found = running.ask("explain", id=event["id"][:6])["decision"]
        assert found["id"] == event["id"]
        assert found["history"][-1]["metrics"]["write.bytes"] > 0


def test_denied_targets_are_never_touched(client: Served, tmp_path: Path) -> None:
    (tmp_path / "state.toml").write_text(EAGER + '[scope]\ndeny_targets = ["*-OST0000-*"]\n')
    before = knobs(client, "OST0000")
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for(lambda: has_changed(running, "OST0001", 3))
        assert knobs(client, "OST0000") == before
