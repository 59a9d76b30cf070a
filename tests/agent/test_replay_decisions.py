"""What an agent decided is decided again from what it recorded, and any difference is found."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.rigs.agents import EAGER, AgentProcess, agent, set_knob
from tests.rigs.served import Served, served, wait_for, why_not

from penstock.agent.startup import LOG_FILE, WINDOWS_FILE
from penstock.cli.main import cli
from penstock.errors import PenstockError

pytestmark = pytest.mark.live

# Quick, but with a guard that takes back what does harm and looks at the original again.
STRICT = """
interval_s = 0.3
watchdog_s = 600
[guard]
jitter_s = 0.2
dwell_s = 0.2
pause_s = 0.5
reference_windows = 2
visit_loss_s = 0.05
trial_s = 0.3
blacklist_s = 1
switchback_first_s = 1
switchback_most_s = 2
"""
# A busy machine may take seconds for an interval.
PATIENT = EAGER.replace("interval_s = 0.1", "interval_s = 0.3")


@pytest.fixture(scope="module")
def spiteful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A client that does less work wherever its knobs were moved."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    with served(tmp_path_factory.mktemp("spiteful"), spiteful=True) as running:
        yield running


def replayed(state: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, document and message of `penstock agent replay`."""
    done = CliRunner().invoke(cli, ["agent", "replay", str(state), "--json", *options])
    if isinstance(done.exception, PenstockError):
        return int(done.exception.exit_code), {}, str(done.exception)
    return done.exit_code, json.loads(done.stdout) if done.stdout else {}, done.stderr.strip()


def stop(running: AgentProcess) -> None:
    """With more patience than a service manager has: the machine may be busy."""
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(300) == 0


def tuned(client: Served, state: Path, policy: str, until: Callable[[AgentProcess], bool]) -> None:
    """A state directory as an agent leaves it."""
    (state.parent / f"{state.name}.toml").write_text(STRICT)
    with agent(client, state, "--mode", "tune", "--policy", policy) as running:
        wait_for(lambda: until(running), 300)
        stop(running)


def reverted(running: AgentProcess) -> bool:
    reasons = {event["reason"] for event in running.events("decision")}
    return "guard.revert" in reasons and bool(running.ask("status")["ticks"] > 20)


@pytest.fixture(scope="module")
def weir_state(spiteful: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the shipped policy left after a change that did harm was taken back."""
    state = tmp_path_factory.mktemp("weir") / "state"
    tuned(spiteful, state, "weir", reverted)
    return state


@pytest.fixture
def state(weir_state: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    for file in (LOG_FILE, WINDOWS_FILE):
        (tmp_path / file).write_bytes((weir_state / file).read_bytes())
    return tmp_path


def test_decisions_of_the_shipped_policy_come_out_the_same(state: Path) -> None:
    code, found, said = replayed(state)
    assert (code, said) == (0, "")
    assert found["same"]
    assert found["verdicts"]["same"] >= 2
    assert sum(found["verdicts"].values()) == found["verdicts"]["same"]
    assert "guard.revert" in {one["reason"] for one in found["decisions"]}
    (run,) = found["runs"]
    assert run["policy"] == "weir"
    assert run["intervals"] == run["same_intervals"] > 10
    assert run["gaps"] == []


def test_replay_takes_the_log_itself_and_prints_each_decision(state: Path) -> None:
    command = [sys.executable, "-m", "penstock", "agent", "replay", str(state / LOG_FILE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("run of policy weir, model ")
    assert sum(line.startswith("  same ") and "[guard.revert]" in line for line in lines) >= 1
    assert "intervals the same" in lines[-1]


def edit_log(state: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    events = [json.loads(line) for line in (state / LOG_FILE).read_text().splitlines()]
    (state / LOG_FILE).write_text("".join(json.dumps(event) + "\n" for event in change(events)))


def first_decision(events: list[dict[str, Any]]) -> dict[str, Any]:
    return next(event for event in events if event["event"] == "decision")


def test_value_changed_in_the_log_is_found(state: Path) -> None:
    def tamper(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        first_decision(events)["wanted"]["flight"] += 1
        return events

    edit_log(state, tamper)
    code, found, _ = replayed(state)
    assert code == 6
    assert not found["same"]
    (wrong,) = (one for one in found["decisions"] if one["verdict"] == "differs")
    assert set(wrong["differences"]) == {"wanted"}
    then, again = (wrong["differences"]["wanted"][side]["flight"] for side in ("log", "replay"))
    assert then == again + 1


def test_decision_removed_from_the_log_is_found(state: Path) -> None:
    edit_log(state, lambda events: [event for event in events if event is not first_decision(events)])
    code, found, _ = replayed(state)
    assert code == 6
    assert found["verdicts"]["not in the log"] == 1


def test_decision_put_into_the_log_is_found(state: Path) -> None:
    def tamper(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        made_up = {**first_decision(events), "id": "0123456789ab", "pending": False}
        return [*events, {**made_up, "t_s": made_up["t_s"] + 0.01}]

    edit_log(state, tamper)
    code, found, _ = replayed(state)
    assert code == 6
    assert [one["id"] for one in found["decisions"] if one["verdict"] == "differs"] == ["0123456789ab"]


def test_windows_that_were_changed_are_found(state: Path) -> None:
    file = state / WINDOWS_FILE
    text = gzip.decompress(file.read_bytes()).decode()
    lines = text.splitlines()
    busy = [at for at, line in enumerate(lines) if line.startswith("[")][2:12]
    for at in busy:
        line = json.loads(lines[at])
        for row in line[4]:
            # Behind the target, its space, two times and two shapes: three knobs, then the counters.
            row[9:] = [3 * moved if isinstance(moved, int | float) else moved for moved in row[9:]]
        lines[at] = json.dumps(line)
    file.write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), mtime=0))
    code, found, _ = replayed(state)
    assert code == 6
    assert found["verdicts"]["differs"] > 0


def test_torn_ends_of_log_and_recording_are_survived(state: Path) -> None:
    log, windows = state / LOG_FILE, state / WINDOWS_FILE
    log.write_bytes(log.read_bytes() + log.read_bytes().splitlines()[3][:200])
    windows.write_bytes(windows.read_bytes()[:-20])
    code, found, _ = replayed(state)
    assert code == 0
    assert found["verdicts"]["same"] > 0
    assert found["verdicts"]["differs"] == found["verdicts"]["not in the log"] == 0
    assert "damaged" in found["runs"][0]["gaps"][0]


@pytest.mark.parametrize(
    ("damage", "code", "sentence"),
    [
        (lambda state: (state / LOG_FILE).unlink(), 3, "no decision log"),
        (lambda state: (state / WINDOWS_FILE).unlink(), 3, "no such recording"),
        (lambda state: (state / LOG_FILE).write_bytes(b"\x00\xff" * 50), 5, "not a decision log"),
        (lambda state: (state / WINDOWS_FILE).write_bytes(b"PK" * 50), 5, "not a recording"),
        (lambda state: (state / WINDOWS_FILE).write_bytes(gzip.compress(b"{}{\n", mtime=0)), 5, "damaged"),
        (lambda state: (state / WINDOWS_FILE).write_bytes(b""), 3, "nothing can be replayed"),
    ],
)
def test_bad_input_is_one_line(
    state: Path, damage: Callable[[Path], object], code: int, sentence: str
) -> None:
    damage(state)
    found, _, said = replayed(state)
    assert found == code
    assert sentence in said
    assert "\n" not in said


@pytest.mark.parametrize("policy", ["climb", "random"])
def test_decisions_among_faults_and_restarts_come_out_the_same(
    client: Served, tmp_path: Path, policy: str
) -> None:
    state, tune = tmp_path / "state", ("--mode", "tune", "--policy", policy)
    (tmp_path / "state.toml").write_text(PATIENT)
    with agent(client, state, *tune) as running:
        # A change to be made is recorded at once; what was seen since the last piece may be lost with the process.
        wait_for(lambda: bool(running.events("decision")), 600)
        running.stop(signal.SIGKILL)
    with agent(client, state, *tune) as running:
        wait_for(lambda: running.ask("status")["ticks"] > 10, 600)
        client.control("reconnect OST0000 1048576\n")
        set_knob(client, "OST0001", "flight", 77)
        running.ask("pause", target=client.osc())
        wait_for(lambda: running.ask("status")["ticks"] > 18, 600)
        running.ask("resume", target=client.osc())
        running.ask("mode", mode="advise")
        running.ask("mode", mode="tune")
        seen = running.ask("status")["ticks"]
        wait_for(lambda: running.ask("status")["ticks"] > seen + 12, 600)
        stop(running)
    code, found, said = replayed(state)
    assert (code, said) == (0, "")
    assert len(found["runs"]) == 2
    assert all(run["intervals"] == run["same_intervals"] for run in found["runs"])
    assert found["verdicts"]["same"] > 0
    assert found["verdicts"]["differs"] == found["verdicts"]["not replayed"] == 0


OWN = """
from penstock import Policy, Proposal

class Own(Policy):
    name = "own"

    def propose(self, window, outlook=None):
        flight = self.rng.choice((4, 8, 16))
        return Proposal(window.setting.replace(flight=flight), "dice", "thrown")

POLICY = Own
"""


def test_policy_of_a_file_is_run_only_if_it_is_named(client: Served, tmp_path: Path) -> None:
    own, state = tmp_path / "own.py", tmp_path / "state"
    own.write_text(OWN)
    (tmp_path / "state.toml").write_text(PATIENT)
    with agent(client, state, "--mode", "tune", "--policy", str(own)) as running:
        wait_for(lambda: len(running.events("decision")) > 3, 600)
        stop(running)
    code, _, said = replayed(state)
    assert code == 3
    assert "name it with --policy" in said
    code, found, _ = replayed(state, "--policy", str(own))
    assert code == 0
    assert found["verdicts"]["same"] > 3
    own.write_text(OWN.replace("(4, 8, 16)", "(2, 8, 32)"))
    code, found, _ = replayed(state, "--policy", str(own))
    assert (code, found["same"]) == (0, None)
    assert found["verdicts"]["differs"] > 0
    assert "is not what it was" in found["runs"][0]["not_judged"]


def test_recording_of_an_older_format_is_shown_and_not_judged(state: Path) -> None:
    lines = gzip.decompress((state / WINDOWS_FILE).read_bytes()).decode().splitlines()
    older = [re.sub(r', "format": \d+', "", line) for line in lines]
    assert older != lines
    (state / WINDOWS_FILE).write_bytes(gzip.compress("\n".join([*older, ""]).encode(), mtime=0))
    code, found, _ = replayed(state)
    assert (code, found["same"]) == (0, None)
    assert "format 1" in found["runs"][0]["not_judged"]
    assert found["verdicts"]["not replayed"] == len(found["decisions"]) > 0


def test_log_of_an_older_format_without_a_recording_is_shown_and_not_judged(
    tmp_path: Path,
) -> None:
    start = {"event": "start", "time_s": 1.0, "mode": "tune", "policy": "weir", "seed": 1}
    decision = {"event": "decision", "time_s": 2.0, "id": "d1", "target": "a", "changes": ["flight 8 -> 16"]}
    text = "".join(
        f"{json.dumps(line)}\n" for line in (start, {**decision, "reason": "try", "pending": False})
    )
    (tmp_path / LOG_FILE).write_text(text)
    code, found, said = replayed(tmp_path)
    assert (code, found["same"], found["verdicts"]["not replayed"]) == (0, None, 1)
    shown = "is shown, not judged: written in format 1, this version reads decisions of 2"
    assert said == f"{tmp_path / LOG_FILE}: {shown}"
