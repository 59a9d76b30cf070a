"""An agent in a process of its own on a served client, for tests with real signals and real system calls."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.rigs.served import Served, wait_for

from penstock.agent.control import request
from penstock.agent.log import read_log
from penstock.agent.startup import LOG_FILE, SOCKET_FILE
from penstock.errors import UnreachableError
from penstock.events import dump

# A guard that lets nearly everything through, so that short tests see many changes.
EAGER = """
interval_s = 0.1
watchdog_s = 600
[guard]
jitter_s = 0
dwell_s = 0
reference_windows = 1
reference_error = 10
visit_loss_s = 100
price = 1
minute_loss_s = 1000
trial_s = 0
switchback_first_s = 1000000
switchback_most_s = 1000000
changes_per_hour = 1000000
breaker_s = 0.001
"""
_FILES = {"pages": "max_pages_per_rpc", "flight": "max_rpcs_in_flight", "dirty": "max_dirty_mb"}
_STOP_S = 300.0
_ANSWER_S = 60.0


def knobs(client: Served, ost: str = "OST0000") -> dict[str, int]:
    """What a target's three files say."""
    directory = client.root / "sys/fs/lustre/osc" / client.osc(ost)
    return {knob_id: int((directory / file).read_text()) for knob_id, file in _FILES.items()}


def set_knob(client: Served, ost: str, knob_id: str, value: int) -> None:
    """Do what an administrator does."""
    directory = client.root / "sys/fs/lustre/osc" / client.osc(ost)
    (directory / _FILES[knob_id]).write_text(f"{value}\n")


@dataclass(slots=True)
class AgentProcess:
    """A running `penstock agent run` and its state directory."""

    process: subprocess.Popen[bytes]
    state_dir: Path

    def ask(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """One request over its socket. If no agent answers because it ended, the error says what it said last."""
        try:
            return request(self.state_dir / SOCKET_FILE, verb, _ANSWER_S, **arguments)
        except UnreachableError as error:
            code = self.process.poll()
            state = "it runs" if code is None else f"it ended with {code}"
            raise UnreachableError(f"{error}; {state} and said: {self.said()[-3000:]}") from error

    def said(self) -> str:
        """Its messages so far, and those of agents that used this state directory before."""
        return _messages(self.state_dir).read_text(encoding="utf-8", errors="replace")

    def answers(self) -> bool:
        """Whether it is there yet. Raises what it said last when it has ended: it will never answer."""
        try:
            return bool(self.ask("status"))
        except UnreachableError:
            if self.process.poll() is not None:
                raise
        return False

    def events(self, kind: str) -> list[dict[str, Any]]:
        """What its log holds of one kind; decisions once their outcome is known."""
        events = [dump(event) for event in read_log(self.state_dir / LOG_FILE) if event.kind == kind]
        return [event for event in events if not event.get("pending")]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code; raises when it does not end within minutes."""
        self.process.send_signal(number)
        return self.process.wait(_STOP_S)


def _messages(state_dir: Path) -> Path:
    """Where its messages go: a pipe that nobody reads would fill up and stop it."""
    return state_dir.parent / f"{state_dir.name}.stderr"


class Rooted(Protocol):
    """Whatever has kernel files below a root: a served client, or this machine."""

    @property
    def root(self) -> Path: ...


@dataclass(frozen=True, slots=True)
class ThisMachine:
    """The machine the tests run on."""

    root: Path = Path("/")


@contextlib.contextmanager
def agent(client: Rooted, state_dir: Path, *options: str, wait: bool = True) -> Iterator[AgentProcess]:
    """An eager agent on a client; killed at the end of the `with` block if it still runs."""
    config = state_dir.parent / f"{state_dir.name}.toml"
    if not config.exists():
        config.write_text(EAGER)
    command = [sys.executable, "-m", "penstock", "agent", "run", "--root", str(client.root)]
    command += ["--state-dir", str(state_dir), "--config", str(config), *options]
    with _messages(state_dir).open("ab") as messages:
        process = subprocess.Popen(command, stderr=messages)
    running = AgentProcess(process, state_dir)
    try:
        if wait:
            wait_for(running.answers)
        yield running
    finally:
        process.kill()
        process.wait()


def recover(client: Rooted, state_dir: Path, verb: str = "restore") -> subprocess.CompletedProcess[str]:
    """`penstock agent restore` or `verify`, with no agent's help."""
    command = [sys.executable, "-m", "penstock", "agent", verb, "--root", str(client.root)]
    command += ["--state-dir", str(state_dir), "--json"]
    return subprocess.run(command, capture_output=True, text=True, check=False)
