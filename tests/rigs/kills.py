"""A tuning agent killed at random instants, again and again, and what one restore does not give back."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.rigs.agents import agent, knobs, recover
from tests.rigs.served import Served, wait_for

from penstock.agent.startup import LOG_FILE

TUNE = ("--mode", "tune", "--policy", "random")
OSTS = ("OST0000", "OST0001")


@dataclass(frozen=True, slots=True)
class Killed:
    """What became of a series of kills."""

    kills: int
    left_tuned: int
    lost: int
    broken_lines: int


def all_knobs(client: Served) -> dict[str, dict[str, int]]:
    """What both targets of a served client hold."""
    return {ost: knobs(client, ost) for ost in OSTS}


def kill_agents(
    client: Served, state_dir: Path, instants_s: Iterable[float], say: Callable[[int, int], object] = max
) -> Killed:
    """SIGKILL one agent per instant, counted from when it answers, or for every fourth from its first change.

    After every other kill `penstock agent restore` gives back; after the rest the next agent has to, when it
    starts. `say` hears how many were killed and how many lost something.
    """
    originals = all_knobs(client)
    kills = left_tuned = lost = 0
    for instant_s in instants_s:
        with agent(client, state_dir, *TUNE) as running:
            if kills % 4 == 0:
                wait_for(lambda: all_knobs(client) != originals)
            time.sleep(instant_s)
            running.stop(signal.SIGKILL)
        kills += 1
        left_tuned += all_knobs(client) != originals
        if kills % 2 == 0:
            lost += recover(client, state_dir).returncode != 0 or all_knobs(client) != originals
        say(kills, lost)
    lost += recover(client, state_dir).returncode != 0 or all_knobs(client) != originals
    return Killed(kills, left_tuned, lost, _broken_lines(state_dir / LOG_FILE))


def _broken_lines(path: Path) -> int:
    """How many whole lines of a log are no event."""
    broken = 0
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            json.loads(line)
        except ValueError:
            broken += 1
    return broken
