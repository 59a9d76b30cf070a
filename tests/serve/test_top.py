"""`penstock agent top` in a real terminal of 80 columns: keys sent, screen read back."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.rigs.agents import agent
from tests.rigs.served import Served, wait_for

pytestmark = pytest.mark.live


@dataclass(frozen=True, slots=True)
class Terminal:
    """A tmux server of its own with one window."""

    tmux: str
    name: str

    def run(self, *arguments: str) -> str:
        command = [self.tmux, "-L", self.name, "-f", "/dev/null", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def start(self, command: str) -> None:
        self.run("new-session", "-d", "-x", "80", "-y", "24", command)
        self.run("set-option", "-g", "remain-on-exit", "on")

    def keys(self, *keys: str) -> None:
        self.run("send-keys", *keys)

    def screen(self) -> str:
        return self.run("capture-pane", "-p")

    def shows(self, *texts: str) -> None:
        """Wait until all texts are on the screen."""
        try:
            wait_for(lambda: all(text in self.screen() for text in texts))
        except TimeoutError:
            raise AssertionError(f"{texts} never appeared on:\n{self.screen()}") from None


@pytest.fixture
def terminal(tmp_path: Path, tool: Callable[[str, str], str]) -> Iterator[Terminal]:
    # Socket paths are short: the test's directory may not be.
    opened = Terminal(tool("tmux", "tmux"), f"penstock-{tmp_path.parent.name}-{tmp_path.name}"[-60:])
    yield opened
    opened.run("kill-server")


def top(state_dir: Path) -> str:
    return shlex.join([sys.executable, "-m", "penstock", "agent", "top", "--state-dir", str(state_dir)])


def test_top_shows_and_steers_an_agent(client: Served, tmp_path: Path, terminal: Terminal) -> None:
    with agent(client, tmp_path / "state", "--mode", "tune", "--policy", "climb") as running:
        wait_for(lambda: len(running.events("decision")) > 4)
        terminal.start(f"{top(running.state_dir)} --every 200ms; echo left with $?; sleep 60")
        terminal.shows("penstock  tune  climb", "lustre-OST0000", "lustre-OST0001", "because", "q quit")
        assert all(len(line) <= 80 for line in terminal.screen().splitlines())
        first = client.osc("OST0000")
        terminal.shows(first)
        terminal.keys("Down")
        terminal.shows(client.osc("OST0001"))
        terminal.keys("p")
        terminal.shows("paused")
        assert running.ask("status")["paused"] == [client.osc("OST0001")]
        terminal.keys("p")
        wait_for(lambda: running.ask("status")["paused"] == [])
        terminal.keys("Up", "e")
        terminal.shows("what:", "why:", "evidence:", "any other key: back")
        terminal.keys("x", "m")
        terminal.shows("o observe   a advise   t tune")
        terminal.keys("a")
        terminal.shows("penstock  advise")
        assert running.ask("status")["mode"] == "advise"
        terminal.keys("P")
        terminal.shows("advise (paused)")
        assert running.ask("status")["paused"] == ["*"]
        running.stop()
        terminal.shows("no agent answers")
        terminal.keys("q")
        terminal.shows("left with 0")


def test_top_without_a_terminal_prints_one_screen(client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state") as running:
        wait_for(lambda: bool(running.ask("status")["targets"]))
        command = [*shlex.split(top(running.state_dir))]
        plain = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        document = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert (plain.returncode, plain.stderr) == (0, "")
    assert "lustre-OST0001" in plain.stdout
    assert "\x1b" not in plain.stdout
    assert len(json.loads(document.stdout)["targets"]) == 2


def test_top_without_an_agent_is_unreachable(tmp_path: Path) -> None:
    done = subprocess.run(
        shlex.split(top(tmp_path)), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 7
    assert done.stderr.startswith(f"penstock: no agent answers at {tmp_path}")
    assert done.stderr.count("\n") == 1
