"""Kills at random instants, and counts what one restore does not give back.

Two victims on a served client (FUSE, coupling and refusals included), their journals on this machine's disk: a
process that sets knobs as fast as it can, where after half of the kills an administrator sets one knob before
the restore; and a whole tuning agent, where a restore and the next agent's start take turns. Prints one JSON
document; fails when a single knob ends up with neither its original nor its administrator's value.

    ./run bench kill [--kills 200] [--victim agent|setter]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.rigs.crashes import instants, survives_until
from tests.rigs.kills import kill_agents
from tests.rigs.served import Served, served, why_not

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lustre import LustreActuator
from penstock.actuate.recovery import restore_all
from penstock.actuate.system import System
from penstock.knobs import Setting

ORIGINAL = Setting(pages=1024, flight=8, dirty=490)
# No candidate of any knob: what the administrator sets can be told from what the process sets.
ADMINISTRATORS = {"flight": ("max_rpcs_in_flight", 77), "dirty": ("max_dirty_mb", 123)}
LONGEST_S, LONGEST_AGENT_S = 0.5, 0.6


def actuator(root: Path, state: Path, system: System) -> LustreActuator:
    return LustreActuator(root, Journal(state, owner_of(root), system), system=system)


def tuner(root: Path, state: Path, seed: int) -> Callable[[System], None]:
    def work(system: System) -> None:
        rng = random.Random(seed)
        mine = actuator(root, state, system)
        targets = mine.targets()
        space = mine.space(targets[0])
        while True:
            wanted = Setting({knob.id: rng.choice(knob.values) for knob in space.knobs})
            # Every fifth group is refused half way and has to be reverted.
            mine.set(rng.choice(targets), wanted.replace(flight=9999) if rng.random() < 0.2 else wanted)

    return work


def settings(root: Path, state: Path) -> list[Setting]:
    reader = actuator(root, state / "none", System())
    return [reader.get(target) for target in reader.targets()]


def one_kill(client: Served, state: Path, seed: int, seconds: float) -> tuple[bool, bool]:
    """Whether the kill left tuned values behind, and whether anything was lost after the restore."""
    client.fresh()
    expected = [ORIGINAL, ORIGINAL]
    survives_until(tuner(client.root, state, seed), seconds)
    tuned = settings(client.root, state) != expected
    rng = random.Random(-seed)
    touched = state.is_dir() and Journal(state, owner_of(client.root)).entries.keys()
    if rng.random() < 0.5 and touched and len(touched) == 2:
        knob_id = rng.choice(list(ADMINISTRATORS))
        file, value = ADMINISTRATORS[knob_id]
        (client.root / "sys/fs/lustre/osc" / client.osc() / file).write_text(str(value))
        expected[0] = expected[0].replace({knob_id: value})
    restore_all(client.root, state)
    return tuned, settings(client.root, state) != expected


def kill_setters(client: Served, directory: Path, kills: int, seed: int) -> dict[str, int]:
    tuned = lost = 0
    for number, seconds in enumerate(instants(seed, kills, LONGEST_S)):
        found = one_kill(client, directory / f"state-{number}", seed + number, seconds)
        tuned, lost = tuned + found[0], lost + found[1]
        say("setter", number + 1, lost)
    return {"kills": kills, "kills_that_left_tuned_values": tuned, "restores_that_lost_something": lost}


def kill_tuning_agents(client: Served, directory: Path, kills: int, seed: int) -> dict[str, int]:
    found = kill_agents(
        client.fresh(),
        directory / "agent-state",
        instants(seed, kills, LONGEST_AGENT_S),
        lambda done, lost: say("agent", done, lost),
    )
    return {
        "kills": found.kills,
        "kills_that_left_tuned_values": found.left_tuned,
        "restores_that_lost_something": found.lost,
        "broken_log_lines": found.broken_lines,
    }


def say(victim: str, done: int, lost: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{victim}: {done} kills, {lost} lost", end="", file=sys.stderr)
    elif done % 20 == 0:
        print(f"{victim}: {done} kills, {lost} lost", file=sys.stderr)


VICTIMS = {"setter": kill_setters, "agent": kill_tuning_agents}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--victim", choices=VICTIMS, help="only this one")
    asked = parser.parse_args()
    if why_not():
        sys.exit(f"kill: {why_not()}")
    document: dict[str, object] = {"seed": asked.seed}
    failed = False
    with tempfile.TemporaryDirectory() as directory, served(Path(directory) / "client") as client:
        for victim in [asked.victim] if asked.victim else VICTIMS:
            started_s = time.monotonic()
            found = VICTIMS[victim](client, Path(directory), asked.kills, asked.seed)
            document[victim] = {**found, "seconds": round(time.monotonic() - started_s, 1)}
            failed |= bool(found["restores_that_lost_something"] or found.get("broken_log_lines"))
    print(json.dumps(document, indent=2))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
