"""Who can do what to a running agent, tried by those who may not. The table is in docs/explanation/security.md."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.rigs.agents import EAGER, agent, knobs
from tests.rigs.served import Served, wait_for

from penstock.agent.control import READ_VERBS, request
from penstock.agent.line_server import MOST_CLIENTS
from penstock.agent.settings import AgentConfig
from penstock.config import load_layered
from penstock.errors import AccessError, ExitCode, PenstockError
from penstock.trusted import require_own

NOBODY = 65534
CHANGING = {
    "mode": {"mode": "tune"},
    "pause": {"target": "*"},
    "resume": {},
    "restore": {},
}


def as_nobody(task: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Run something as somebody without rights and bring back what it found."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        os.write(writer, json.dumps(task()).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    found: dict[str, str] = json.loads(os.read(reader, 65536))
    return found


def outcome(path: Path, verb: str, **arguments: Any) -> str:
    try:
        request(path, verb, **arguments)
    except PenstockError as error:
        return f"{int(error.exit_code)} {error}"
    return "ok"


def open_up(path: Path) -> None:
    """Let everybody reach a path, as far as its directories are concerned."""
    for part in path.parents:
        if part.stat().st_uid == os.geteuid() and not part.stat().st_mode & stat.S_IXOTH:
            part.chmod(0o755)


def run(client: Served, state_dir: Path, config: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", "agent", "run", "--root", str(client.root)]
    command += ["--state-dir", str(state_dir), "--config", str(config)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def test_what_the_agent_keeps_is_closed_to_others(client: Served, tmp_path: Path) -> None:
    (tmp_path / "state.toml").write_text(EAGER)
    before = os.umask(0)
    try:
        with agent(client, tmp_path / "state", "--mode", "tune", "--policy", "climb") as running:
            wait_for(lambda: len(running.events("decision")) > 2)
            modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "state").iterdir()}
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o750
    expected = {"control.sock": 0o660, "decisions.jsonl": 0o640, "jobs": 0o700, "lock": 0o600}
    assert {name: modes[name] for name in expected} == expected
    assert {mode for name, mode in modes.items() if name.startswith("journal")} == {0o600}
    assert not any(mode & 0o007 for mode in modes.values())


def test_strangers_cannot_even_look(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state") as running:
        path = running.state_dir / "control.sock"
        open_up(running.state_dir)
        found = as_nobody(lambda: {"status": outcome(path, "status")})
    assert found == {"status": f"4 {path}: permission denied"}


def test_whoever_may_connect_may_look_but_change_nothing(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", "--mode", "observe") as running:
        path = running.state_dir / "control.sock"
        open_up(path)
        path.chmod(0o666)
        running.state_dir.chmod(0o755)
        before = knobs(client)
        found = as_nobody(
            lambda: {
                "status": outcome(path, "status"),
                **{verb: outcome(path, verb, **arguments) for verb, arguments in CHANGING.items()},
            }
        )
        assert running.ask("status")["mode"] == "observe"
        assert running.ask("status")["paused"] == []
        assert running.events("control") == []
    assert found.pop("status") == "ok"
    assert set(found.values()) == {f"4 uid {NOBODY} may look but not change anything"}
    assert knobs(client) == before


def test_every_verb_that_changes_anything_is_guarded() -> None:
    assert not READ_VERBS & set(CHANGING)


def test_names_are_never_paths(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", "--mode", "observe") as running:
        wait_for(lambda: bool(running.events("start")) and (running.state_dir / "jobs").exists())
        before = sorted(tmp_path.rglob("*"))
        for name in ("../../etc/passwd", "/etc/shadow", "x\ny", "*/..", "a" * 5000, ""):
            found = outcome(running.state_dir / "control.sock", "explain", id=name)
            assert found.startswith("3 no decision")
            if name:
                refused = outcome(running.state_dir / "control.sock", "pause", target=name)
                assert "no such target" in refused
                assert running.ask("status")["paused"] == []
        assert sorted(tmp_path.rglob("*")) == before


def slow_clients(path: Path) -> list[socket.socket]:
    found = []
    for i in range(3 * MOST_CLIENTS):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(300)
        connection.connect(str(path))
        if i % 2:
            connection.sendall(b'{"verb": "sta')
        found.append(connection)
    return found


def test_slow_and_oversized_clients_hold_up_nobody(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state") as running:
        path = running.state_dir / "control.sock"
        slow = slow_clients(path)
        stop = threading.Event()
        dripping = threading.Thread(target=drip, args=(path, stop))
        dripping.start()
        try:
            with socket.socket(socket.AF_UNIX) as greedy:
                greedy.connect(str(path))
                with pytest.raises(OSError, match=r"reset|roken"):
                    for _ in range(1000):
                        greedy.sendall(b"x" * 65536)
            before = running.ask("status")["ticks"]
            wait_for(lambda: running.ask("status")["ticks"] > before + 10)
        finally:
            stop.set()
            dripping.join()
            for connection in slow:
                connection.close()
        assert running.stop() == 0


def drip(path: Path, stop: threading.Event) -> None:
    """A client that always has one more byte to say."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        while not stop.wait(0.05):
            try:
                connection.sendall(b" ")
            except OSError:
                return


def test_dripping_client_is_cut_off_in_time(tmp_path: Path) -> None:
    from penstock.agent.control import ControlServer

    server = ControlServer(tmp_path / "control", lambda verb, arguments: {}, timeout_s=0.5)
    dripping = threading.Thread(target=drip, args=(server.path, threading.Event()))
    dripping.start()
    dripping.join(300)
    assert not dripping.is_alive()
    server.close()


def given_away(path: Path, text: str) -> Path:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a file away")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    os.chown(path, NOBODY, NOBODY)
    return path


def test_configuration_of_others_is_refused(client: Served, tmp_path: Path) -> None:
    config = given_away(tmp_path / "agent.toml", 'mode = "tune"\n')
    done = run(client, tmp_path / "state", config)
    assert done.returncode == ExitCode.PERMISSION
    assert done.stderr == (
        f"penstock: {config}: belongs to uid {NOBODY}, so it is not trusted (chown root)\n"
    )
    assert not (tmp_path / "state").exists()


def test_drop_in_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "agent.toml").write_text('mode = "observe"\n')
    given_away(tmp_path / "agent.toml.d" / "evil.toml", '[metrics]\ntextfile = "/etc/cron.d/x.prom"\n')
    with pytest.raises(AccessError, match=r"evil\.toml: belongs to uid"):
        load_layered(tmp_path / "agent.toml", AgentConfig)


def test_file_that_a_foreign_group_may_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text('mode = "observe"\n')
    require_own(path)
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a file away")
    path.chmod(0o664)
    require_own(path)
    os.chown(path, 0, NOBODY)
    with pytest.raises(AccessError, match="its group may write it"):
        require_own(path)


def test_model_of_others_is_not_used(client: Served, tmp_path: Path) -> None:
    model = given_away(tmp_path / "model.json", "{}")
    (tmp_path / "state.toml").write_text(EAGER)
    with agent(
        client, tmp_path / "state", "--mode", "tune", "--policy", "carat", "--model", str(model)
    ) as running:
        status = running.ask("status")
        assert status["mode"] == "observe"
        assert any(f"{model}: belongs to uid {NOBODY}" in problem for problem in status["problems"])


def test_policy_file_of_others_is_not_run(client: Served, tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    policy = given_away(tmp_path / "policy.py", f"open({str(trap)!r}, 'w')\n")
    (tmp_path / "agent.toml").write_text(f'policy = "{policy}"\n')
    done = run(client, tmp_path / "state", tmp_path / "agent.toml")
    assert done.returncode == ExitCode.PERMISSION
    assert not trap.exists()


@pytest.mark.parametrize("open_to", ["owner", "everybody"])
def test_state_directory_of_others_is_refused(client: Served, tmp_path: Path, open_to: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a directory away")
    state_dir = tmp_path / "state"
    state_dir.mkdir()
    if open_to == "owner":
        os.chown(state_dir, NOBODY, NOBODY)
    else:
        state_dir.chmod(0o1777)
    (tmp_path / "agent.toml").write_text('mode = "tune"\n')
    done = run(client, state_dir, tmp_path / "agent.toml")
    assert done.returncode == ExitCode.PERMISSION
    assert done.stderr.startswith(f"penstock: {state_dir}: ")
    assert list(state_dir.iterdir()) == []


def test_log_that_is_a_link_is_not_followed(client: Served, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "state").mkdir(mode=0o750)
    (tmp_path / "state" / "decisions.jsonl").symlink_to(precious)
    with agent(client, tmp_path / "state") as running:
        wait_for(lambda: running.ask("status")["lost_log_lines"] > 0)
        running.stop()
    assert precious.read_text() == "mine"
