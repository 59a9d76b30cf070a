"""`penstock dash` as a command: what it refuses in one line, and how it ends."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.agent.log import DecisionLog
from penstock.agent.startup import LOG_FILE
from penstock.cli.main import cli
from penstock.dash import serving
from penstock.dash.gate import Gate
from penstock.errors import PenstockError
from penstock.events import StartEvent

pytestmark = pytest.mark.live


def refused(*words: str) -> PenstockError:
    done = CliRunner().invoke(cli, ["dash", *words])
    assert isinstance(done.exception, PenstockError), done.output
    assert "\n" not in str(done.exception)
    return done.exception


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state directory with a log that says little."""
    DecisionLog(tmp_path / LOG_FILE).append(StartEvent(time_s=1.0, mode="observe", policy="weir"))
    return tmp_path


def test_command_refuses_what_cannot_be_shown(tmp_path: Path) -> None:
    assert refused("--state-dir", str(tmp_path / "none")).exit_code == 3
    assert refused("--recording", str(tmp_path / "none.jsonl")).exit_code == 3
    assert refused("--simulate", "--recording", "x.jsonl").exit_code == 2


@pytest.mark.parametrize(
    ("words", "control"),
    [((), False), (("--host", "0.0.0.0"), False), (("--token-file", "token"), False), (("--control",), True)],
)
def test_command_changes_nothing_without_control(
    state: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], control: bool
) -> None:
    gates: list[Gate] = []

    def serve(source: object, gate: Gate, listener: socket.socket, ready: object) -> None:
        gates.append(gate)
        listener.close()

    monkeypatch.setattr(serving, "serve", serve)
    monkeypatch.chdir(state)
    Path("token").write_text("a-token-of-sufficient-length")
    done = CliRunner().invoke(cli, ["dash", "--port", "0", "--state-dir", str(state), *words])
    assert done.exit_code == 0, done.output
    assert [gate.control for gate in gates] == [control]
    assert len(gates[0].token) >= 16, "reading needs a token whatever was given"


def test_command_refuses_a_token_that_is_easily_guessed(state: Path) -> None:
    for text in ("short", "two words that are long enough", ""):
        (state / "token").write_text(text)
        assert refused("--state-dir", str(state), "--token-file", str(state / "token")).exit_code == 2
    assert refused("--state-dir", str(state), "--token-file", str(state / "none")).exit_code == 3


def test_command_says_that_a_port_is_taken(state: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert f"127.0.0.1:{port}: cannot listen" in str(refused("--state-dir", str(state), "--port", port))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_command_ends_in_order_with_a_page_open(state: Path, number: int) -> None:
    words = [sys.executable, "-m", "penstock", "dash", "--port", "0", "--state-dir", str(state)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        address, _, token = process.stdout.readline().strip().partition("/#token=")
        port = int(address.rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        connection.request("GET", "/api/events", headers={"x-penstock-token": token})
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.readline().startswith(b'data: {"view":')
        process.send_signal(number)
        assert process.wait(300) == 0
        connection.close()
        assert process.stderr.read().count("\n") == 1
