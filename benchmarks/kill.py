"""Kills a process that sets knobs at random instants and counts what one restore does not give back.

The process tunes a served client (FUSE, coupling and refusals included) as fast as it can, its journal on
this machine's disk. After half of the kills an administrator sets one knob before the restore. Prints one JSON
document; fails when a single knob ends up with neither its original nor its administrator's value.
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

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lustre import LustreActuator
from penstock.actuate.recovery import restore_all
from penstock.actuate.system import System
from penstock.knobs import Setting
from penstock.testing.crashes import instants, survives_until
from penstock.testing.served import Served, served, why_not

ORIGINAL = Setting(pages=1024, flight=8, dirty=490)
# No candidate of any knob: what the administrator sets can be told from what the process sets.
ADMINISTRATORS = {"flight": ("max_rpcs_in_flight", 77), "dirty": ("max_dirty_mb", 123)}
LONGEST_S = 0.5


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if why_not():
        sys.exit(f"kill: {why_not()}")
    started_s = time.monotonic()
    tuned = lost = 0
    with tempfile.TemporaryDirectory() as directory, served(Path(directory) / "client") as client:
        for number, seconds in enumerate(instants(asked.seed, asked.kills, LONGEST_S)):
            found = one_kill(client, Path(directory) / f"state-{number}", asked.seed + number, seconds)
            tuned, lost = tuned + found[0], lost + found[1]
            if sys.stderr.isatty():
                print(f"\r{number + 1}/{asked.kills} kills, {lost} lost", end="", file=sys.stderr)
    document = {
        "kills": asked.kills,
        "kills_that_left_tuned_values": tuned,
        "restores_that_lost_something": lost,
        "seed": asked.seed,
        "seconds": round(time.monotonic() - started_s, 1),
    }
    print(json.dumps(document, indent=2))
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
