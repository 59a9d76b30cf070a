"""Does tuning bring what `penstock fleet worth` says? The cases it says it from, and worlds to compare it with.

usage: python -m benchmarks.fleet_worth [--worlds 240] [--seconds 90] [--out FILE.json] [--write]

The cases are those of the shipped survey, random worlds and recordings of real clients: each is played as the world,
with all others as the survey, as `benchmarks.reliability` does, and what the setting that is kept brings is the gain.
That needs no simulation, but it is too good: nothing is lost while settings are tried, and a surveyed surface is best
where chance made it so. So worlds of other seeds are simulated twice with the same random numbers: untuned, as an
agent notes it that only observes, and tuned as shipped. Of three worlds two set the *scale* of all gains: the mean
gain of their clients over what the cases say of them. The third is *kept*: what is said of it is compared with what
tuning brought. Worlds that FILE has already are not run again.

--write makes src/penstock/predict/tuned_cases.json, and the part about it in docs/explanation/fleet-learning.md with
its plot.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.reliability import played_all
from benchmarks.worth_runs import tuned_cases

from penstock.predict.tuned_cases import TunedCase
from penstock.train.draws import draw_worlds
from penstock.train.survey import LEFT_OUT
from penstock.train.worlds import DescribedWorld

RESULT = Path(__file__).parent / "results" / "fleet_worth.json"
SCALE_SEED, KEPT_SEED = 49001, 49002
WORLDS, SECONDS, SEED = 240, 90.0, 1
# Noise of a window when a case is played.
NOISE = 0.1


def drawn(worlds: int) -> Iterator[tuple[str, DescribedWorld]]:
    """Two worlds for the scale, then one that is kept, and so on; kept ones are of families never surveyed too."""
    scale, kept = draw_worlds(SCALE_SEED, worlds, without=LEFT_OUT), draw_worlds(KEPT_SEED, worlds)
    for number in range(worlds):
        yield ("kept", next(kept)) if number % 3 == 2 else ("scale", next(scale))


def rows_of(part: str, world: DescribedWorld, seconds: float) -> list[dict[str, Any]]:
    """What a world adds to the results; one row without a case where no client does one kind of work."""
    began_s = time.process_time()
    cases = tuned_cases(world, seconds, SEED)
    row = {
        "world": world.name,
        "part": part,
        "seconds": seconds,
        "cpu_s": round(time.process_time() - began_s, 1),
    }
    return [{**row, "case": asdict(case)} for case in cases] or [row | {"case": None}]


def cases_of(rows: list[dict[str, Any]], part: str) -> list[TunedCase]:
    """The cases of one part of the results."""
    found = [TunedCase(**row["case"]) for row in rows if row["part"] == part and row["case"] is not None]
    return [replace(case, look=tuple(case.look)) for case in found]


def played_cases() -> list[TunedCase]:
    """Every surveyed case, with what a tuner that has the others for a survey keeps there."""
    return [
        TunedCase(case.origin, case.kind, case.look, math.log2(gain), case.weight)
        for case, gain, _ in played_all(NOISE, SEED)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", type=int, default=WORLDS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    rows = json.loads(asked.out.read_text()) if asked.out.exists() else []
    if asked.write:
        from benchmarks.fleet_worth_page import write

        print(write(played_cases(), cases_of(rows, "scale"), cases_of(rows, "kept")))
        return 0
    done = {row["world"] for row in rows}
    for part, world in drawn(asked.worlds):
        if world.name not in done:
            rows += rows_of(part, world, asked.seconds)
            asked.out.parent.mkdir(exist_ok=True)
            asked.out.write_text(json.dumps(rows, indent=0) + "\n")
            print(world.name, part, rows[-1]["cpu_s"], file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
