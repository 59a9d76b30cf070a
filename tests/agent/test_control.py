"""The control socket, over real sockets and with real peers."""

from __future__ import annotations

import json
import os
import socket
import stat
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock.agent.control import ControlServer, request
from penstock.errors import ExitCode, MissingError, PenstockError, UnreachableError

NOBODY = 65534


def handle(verb: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    if verb == "explain" and "id" not in arguments:
        raise MissingError("no decision without an id")
    return {"verb": verb, "arguments": dict(arguments)}


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    server = ControlServer(tmp_path / "control", handle, timeout_s=600.0)
    yield server.path
    server.close()


def raw(path: Path, text: bytes) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(300)
        connection.connect(str(path))
        connection.sendall(text)
        answer = b""
        while not answer.endswith(b"\n") and (more := connection.recv(65536)):
            answer += more
    found: dict[str, Any] = json.loads(answer)
    return found


def test_control_answers_and_passes_arguments(path: Path) -> None:
    assert request(path, "pause", target="x") == {"verb": "pause", "arguments": {"target": "x"}}


def test_control_socket_is_closed_to_others(path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o660


def test_control_error_keeps_its_exit_code(path: Path) -> None:
    with pytest.raises(PenstockError, match="without an id") as caught:
        request(path, "explain")
    assert caught.value.exit_code == ExitCode.NOT_FOUND


@pytest.mark.parametrize(
    "text", [b"\n", b"[]\n", b"{}\n", b"nonsense\n", b'{"verb": 3}\n', b"[" * 9000 + b"\n"]
)
def test_control_answers_nonsense_with_an_error(path: Path, text: bytes) -> None:
    assert raw(path, text)["ok"] is False
    assert request(path, "status")["verb"] == "status"


def test_control_cuts_off_oversized_requests(path: Path) -> None:
    with pytest.raises((json.JSONDecodeError, ConnectionError, BrokenPipeError)):
        raw(path, b"x" * 1_000_000)
    assert request(path, "status")["verb"] == "status"


def test_control_is_not_held_up_by_a_silent_client(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(str(path))
        assert request(path, "status", timeout_s=300.0)["verb"] == "status"


def test_control_lets_strangers_look_but_not_change(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    path.chmod(0o666)
    for part in path.parents:
        # Only what pytest closed: the directory for everybody's temporary files is not ours to change.
        if not part.stat().st_mode & stat.S_IXOTH:
            part.chmod(0o755)
    outcome = _as_nobody(path)
    assert outcome == {"status": "ok", "mode": "uid 65534 may look but not change anything"}


def _as_nobody(path: Path) -> dict[str, str]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        found = {}
        for verb in ("status", "mode"):
            try:
                request(path, verb)
                found[verb] = "ok"
            except PenstockError as error:
                found[verb] = str(error)
        os.write(writer, json.dumps(found).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    outcome: dict[str, str] = json.loads(os.read(reader, 65536))
    return outcome


def test_control_without_an_agent_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="no agent answers"):
        request(tmp_path / "nobody", "status")


def test_control_leaves_no_threads_behind(tmp_path: Path) -> None:
    before = threading.active_count()
    for i in range(3):
        ControlServer(tmp_path / f"c{i}", handle).close()
    assert threading.active_count() == before
    assert not list(tmp_path.glob("c*"))
