"""What a running agent must survive; docs/explanation/faults.md lists which test stands for which row."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.rigs.agents import EAGER, AgentProcess, agent, knobs, recover, set_knob
from tests.rigs.crashes import instants
from tests.rigs.kills import OSTS, TUNE, all_knobs, kill_agents
from tests.rigs.served import Served, wait_for

from penstock.agent.filesystems import CLIENT
from penstock.agent.log import read_log
from penstock.agent.settings import AgentConfig
from penstock.agent.startup import LOG_FILE
from penstock.errors import PenstockError
from penstock.events import dump

pytestmark = pytest.mark.live

SHIPPED = str(AgentConfig.model_fields["policy"].default)


def has_changed(running: AgentProcess, ost: str, since: int = 0) -> bool:
    changes = [event for event in running.events("decision") if f"-{ost}-" in event["target"]]
    return len(changes) > since


def wait_for_changes(running: AgentProcess, *osts: str) -> None:
    wait_for(lambda: all(has_changed(running, ost) for ost in osts))


def wait_for_ticks(running: AgentProcess, count: int) -> None:
    """However slow the machine is: until the agent has looked so many times more."""
    seen = running.ask("status")["ticks"]
    wait_for(lambda: running.ask("status")["ticks"] > seen + count)


def decided(running: AgentProcess, ost: str) -> set[str]:
    """Decisions for a target, those whose outcome is not known yet included."""
    events = [dump(event) for event in read_log(running.state_dir / LOG_FILE) if event.kind == "decision"]
    return {event["id"] for event in events if f"-{ost}-" in event["target"]}


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


@pytest.mark.slow
def test_sigkill_at_random_instants_loses_nothing(client: Served, tmp_path: Path) -> None:
    found = kill_agents(client, tmp_path / "state", instants(20, 12, 0.6))
    assert found.kills == 12
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
            wait_for(lambda: running.ask("status")["lost_log_lines"] > 0)
            wait_for_ticks(running, 20)
            running.stop()
        assert all_knobs(client) == before
    finally:
        subprocess.run(["umount", "-l", str(state)], check=True)


def test_decision_that_cannot_be_logged_moves_no_knob(client: Served, tmp_path: Path) -> None:
    before, state = all_knobs(client), tmp_path / "state"
    (state / "decisions.jsonl").mkdir(parents=True)
    with agent(client, state, *TUNE) as running:
        wait_for(lambda: running.ask("status")["lost_log_lines"] > 3)
        status = running.ask("status")
        assert any("cannot be written: no knob moves" in problem for problem in status["problems"])
        wait_for(lambda: any(row["reason"] == "not-logged" for row in running.ask("status")["targets"]))
        assert all_knobs(client) == before
        (state / "decisions.jsonl").rmdir()
        wait_for_changes(running, *OSTS)
        assert running.stop() == 0
    assert all_knobs(client) == before


@pytest.mark.parametrize("policy", ["weir", "climb", "carat"])
def test_start_at_a_value_that_is_no_candidate_is_tuned_and_given_back(
    client: Served, tmp_path: Path, policy: str
) -> None:
    set_knob(client, "OST0000", "flight", 24)
    set_knob(client, "OST0001", "pages", 768)
    before = all_knobs(client)
    with agent(client, tmp_path / "state", "--mode", "tune", "--policy", policy) as running:
        wait_for(lambda: running.ask("status")["ticks"] > 40)
        assert running.stop() == 0
    assert all_knobs(client) == before


@pytest.mark.parametrize("policy", ["climb", SHIPPED])
def test_faults_while_a_policy_tunes_lose_nothing(client: Served, tmp_path: Path, policy: str) -> None:
    state, tune = tmp_path / "state", ("--mode", "tune", "--policy", policy)
    for ost in OSTS:
        set_knob(client, ost, "pages", 64)
        set_knob(client, ost, "flight", 1)
    before = all_knobs(client)
    with agent(client, state, *tune) as running:
        wait_for(lambda: running.ask("status")["ticks"] > 30)
        running.stop(signal.SIGKILL)
    with agent(client, state, *tune) as running:
        wait_for(lambda: running.ask("status")["ticks"] > 10)
        client.control("deactivate OST0000\n")
        client.control("activate OST0000\n")
        client.control("block OST0001 stats\n")
        try:
            wait_for(lambda: any("stale" in line for line in running.ask("status")["problems"]))
        finally:
            client.control("clear\n")
        seen = running.ask("status")["ticks"]
        wait_for(lambda: running.ask("status")["ticks"] > seen + 10)
        assert running.ask("status")["policy_errors"] == 0
        assert running.stop() == 0
    assert all_knobs(client) == before
    assert recover(client, state, "verify").returncode == 0


def test_second_agent_leaves_naming_the_first(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", *TUNE) as first:
        with agent(client, tmp_path / "state", *TUNE, wait=False) as second:
            assert second.process.wait(200) == 1
            assert f"in use by process {first.process.pid}; stop it first" in second.said()
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
    (tmp_path / "state.toml").write_text(EAGER.replace("watchdog_s = 600", "watchdog_s = 3"))
    options = ("--mode", "tune", "--policy", str(policy))
    # A busy machine may have it hang before it answers.
    with agent(client, tmp_path / "state", *options, wait=False) as running:
        assert running.process.wait(300) == 70
    assert recover(client, tmp_path / "state").returncode == 0
    assert all_knobs(client) == before


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise RuntimeError('no idea')", "RuntimeError: no idea"),
        ("return 42", "it returned 42, not a Proposal"),
        ("return Proposal(window.setting.replace(flight=99999), 'more', 'more')", "flight=99999"),
        ("return Proposal(window.setting.replace(flight=1), 'x', 'x', {'gain': float('inf')})", "gain=inf"),
        ("return Proposal(Setting(flight=1), 'x', 'x')", "a setting without pages, dirty"),
    ],
)
def test_policy_that_raises_or_answers_nonsense_leaves_its_target_alone(
    client: Served, tmp_path: Path, body: str, said: str
) -> None:
    policy, before = tmp_path / "bad.py", all_knobs(client)
    policy.write_text(
        "from penstock.decide.policies import Policy\n"
        "from penstock.decide.policies._base import Proposal\n"
        "from penstock.knobs import Setting\n"
        "class Bad(Policy):\n"
        "    name = 'bad'\n"
        "    def propose(self, window, outlook=None):\n"
        f"        {body}\n"
        "POLICY = Bad\n"
    )
    with agent(client, tmp_path / "state", "--mode", "tune", "--policy", str(policy)) as running:
        wait_for(lambda: running.ask("status")["policy_errors"] > 5)
        # An interval that a busy machine made too long has no decision, and so no reason.
        wait_for(lambda: {row["reason"] for row in running.ask("status")["targets"]} == {"policy-error"})
        problems = running.ask("status")["problems"]
        assert [line for line in problems if said in line and "policy bad failed" in line]
        assert all_knobs(client) == before
        assert running.stop() == 0
        lines = running.said().splitlines()
    assert len([line for line in lines if "policy bad failed" in line]) == 1


def test_policy_that_cannot_be_made_leaves_all_targets_alone(client: Served, tmp_path: Path) -> None:
    policy = tmp_path / "stillborn.py"
    policy.write_text(
        "from penstock.decide.policies.random_walk import RandomPolicy\n"
        "class Stillborn(RandomPolicy):\n"
        "    def __init__(self, space, rng):\n"
        "        raise RuntimeError('not today')\n"
        "POLICY = Stillborn\n"
    )
    with agent(client, tmp_path / "state", "--mode", "tune", "--policy", str(policy)) as running:
        wait_for(lambda: running.ask("status")["policy_errors"] > 0)
        wait_for(lambda: any("not today" in line for line in running.ask("status")["problems"]))
        assert running.stop() == 0


def test_pause_of_something_unknown_is_an_error_with_a_suggestion(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state") as running:
        wait_for(lambda: len(running.ask("status")["targets"]) == 2)
        row = running.ask("status")["targets"][0]
        for verb in ("pause", "resume"):
            done = cli(verb, row["short"][:-1] + "9", "--state-dir", str(running.state_dir))
            assert done.returncode == 3
            assert "no such target or file system" in done.stderr
            assert f'did you mean "{row["short"][:-1]}' in done.stderr
        for name in (row["target"], row["short"], row["fs"]):
            assert cli("pause", name, "--state-dir", str(running.state_dir)).returncode == 0
            assert _row_of(running, row["target"])["paused"]
            assert cli("resume", name, "--state-dir", str(running.state_dir)).returncode == 0
            assert not _row_of(running, row["target"])["paused"]


def test_resume_of_one_target_tells_that_everything_is_still_paused(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state") as running:
        wait_for(lambda: len(running.ask("status")["targets"]) == 2)
        place = ("--state-dir", str(running.state_dir))
        assert cli("pause", *place).returncode == 0
        told = cli("resume", client.osc("OST0000"), *place).stdout
        assert "still paused: everything; to end every pause: penstock agent resume" in told
        assert "paused: everything" in cli("status", *place).stdout.splitlines()[0]
        # A pipe has no width, but a screen printed to it has one.
        assert max(map(len, cli("top", "--once", *place).stdout.splitlines())) <= 120
        assert "still paused" not in cli("resume", *place).stdout
        assert running.ask("status")["paused"] == []


def test_agent_without_a_client_says_so_and_waits(tmp_path: Path) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    with agent(Served(root, None), tmp_path / "state") as running:  # type: ignore[arg-type]
        wait_for(lambda: running.ask("status")["ticks"] > 1)
        assert running.ask("status")["problems"] == [f"no {CLIENT} below {root}: waiting for a mount"]
        assert "waiting for a mount" in cli("status", "--state-dir", str(running.state_dir)).stdout
        assert running.stop() == 0


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", "agent", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_targets_that_come_and_go_leave_a_line_each(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state") as running:
        wait_for(lambda: len(running.ask("status")["targets"]) == 2)
        name, other = client.osc("OST0000"), client.osc("OST0001")

        def said(what: str, *names: str) -> bool:
            events = [event for event in running.events("targets") if event["what"] == what]
            return {name for event in events for name in event["targets"]} >= set(names)

        client.control("deactivate OST0000\n")
        wait_for(lambda: said("deactivated", name))
        client.control("activate OST0000\n")
        wait_for(lambda: said("connected", name))
        client.control("unmount\n")
        wait_for(lambda: said("vanished", name, other))
        client.control("remount\n")
        wait_for(lambda: said("appeared", client.osc("OST0000"), client.osc("OST0001")))
        assert running.stop() == 0
        lines = running.said()
    assert f"{name} was deactivated" in lines
    assert "2 targets of" in lines


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
        wait_for_ticks(running, 10)
        assert knobs(client)["flight"] == 77
        assert running.stop() == 0
    after = all_knobs(client)
    assert after["OST0000"]["flight"] == 77
    assert {**after["OST0000"], "flight": 8} == before["OST0000"]
    assert after["OST0001"] == before["OST0001"]


def test_administrators_value_is_given_up_at_once_and_never_shown_as_ours(
    client: Served, tmp_path: Path
) -> None:
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, "OST0000")
        set_knob(client, "OST0000", "flight", 77)
        name = client.osc()
        wait_for(lambda: "flight" in _row_of(running, name)["manual"])
        wait_for(lambda: bool(running.events("yield")))
        assert [(event["target"], event["knobs"]) for event in running.events("yield")] == [
            (name, {"flight": 77})
        ]
        assert not any(
            change.startswith("flight 77") for event in running.events("decision") for change in event["made"]
        )
        last = _row_of(running, name)["last_change"]
        assert not any(change.startswith("flight 77") for change in last["changes"])
        assert running.stop() == 0
        said = running.said()
        assert "flight 77 ->" not in said
        assert f"{name}: somebody else set flight=77" in said


def test_administrators_value_is_given_up_by_an_agent_that_wishes_nothing(
    client: Served, tmp_path: Path
) -> None:
    policy = tmp_path / "once.py"
    policy.write_text(
        "from penstock.decide.policies._base import Policy, Proposal\n"
        "class Once(Policy):\n"
        "    name = 'once'\n"
        "    def propose(self, window, outlook=None):\n"
        "        original = window.setting['flight'] == 8\n"
        "        return Proposal(window.setting.replace(flight=16) if original else window.setting, 'once', 'once')\n"
        "POLICY = Once\n"
    )
    with agent(client, tmp_path / "state", "--mode", "tune", "--policy", str(policy)) as running:
        wait_for(lambda: any(event["actual"] for event in running.events("decision")))
        set_knob(client, "OST0000", "flight", 77)
        wait_for(lambda: "flight" in _row_of(running, client.osc())["manual"])
        set_knob(client, "OST0000", "flight", 99)
        wait_for(
            lambda: [event["knobs"] for event in running.events("yield")] == [{"flight": 77}, {"flight": 99}]
        )
        assert running.stop() == 0
    assert knobs(client)["flight"] == 99


def test_knob_is_tuned_again_only_once_its_administrator_says_so(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, "OST0000")
        set_knob(client, "OST0000", "flight", 77)
        wait_for(lambda: "flight" in _row_of(running, client.osc())["manual"])
        running.ask("pause", target=client.osc())
        left = running.ask("resume")
        assert (left["paused"], left["left"]) == ([], [{"target": client.osc(), "knobs": ["flight"]}])
        wait_for_ticks(running, 5)
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
        wait_for_ticks(running, 10)
        assert running.stop() == 0
    assert knobs(client)["pages"] == 256
    assert knobs(client)["flight"] == 8


def test_evicted_or_deactivated_target_is_frozen(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for_changes(running, *OSTS)
        client.control("deactivate OST0000\n")
        wait_for(lambda: "deactivated" in (_row_of(running, client.osc()).get("void") or ""))
        seen = decided(running, "OST0000")
        wait_for_ticks(running, 7)
        assert decided(running, "OST0000") == seen
        assert "deactivated" in _row_of(running, client.osc())["void"]
        client.control("activate OST0000\n")
        wait_for(lambda: decided(running, "OST0000") > seen)


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
        wait_for_ticks(running, 5)
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
