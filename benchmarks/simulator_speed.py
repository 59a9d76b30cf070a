"""How fast is the simulator? Simulated seconds per second of processor time over all 12 x 99 cells.

usage: python benchmarks/simulator_speed.py [--seconds 0.5] [--every 1] [--uncompiled]

Prints one JSON document: geometric mean, worst cells, events per second, the compiled loop against the uncompiled
one, and memory at the start and the end of a long run. Processor time, not wall time, is counted, so that other
work on the machine matters less; on an idle machine both are the same.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time

from penstock.knobs import Setting
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.simulation import Simulation
from penstock.spaces import LUSTRE
from penstock.workload import NAMES

WARMUP_S = 1.0


def cell(name: str, setting: Setting, seconds: float) -> tuple[float, int]:
    """Processor seconds per simulated second, and events, after a warm-up."""
    made = Simulation(named_plan(builtin_cluster("c220g5"), name, seed=1))
    made.set_all(setting)
    made.run_until(WARMUP_S if seconds >= 0.1 else 0.0)
    before, start_s = made.totals().events, made.now_s
    started = time.process_time()
    made.run_until(start_s + seconds)
    return (time.process_time() - started) / seconds, made.totals().events - before


def uncompiled(name: str, setting: Setting, seconds: float) -> float:
    """Processor seconds per simulated second with numba switched off."""
    words = ["--one", name, str(setting["pages"]), str(setting["flight"]), str(seconds)]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, __file__, *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return float(done.stdout)


def memory_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def flat_memory() -> dict[str, float]:
    made = Simulation(named_plan(builtin_cluster("c220g5"), "s_wr_rn_8k", seed=1))
    made.run_until(10.0)
    before = memory_mib()
    made.run_until(110.0)
    return {"after_10_s_mib": before, "after_110_s_mib": memory_mib()}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--every", type=int, default=1, help="measure every n-th cell only")
    parser.add_argument("--uncompiled", action="store_true", help="compare with the uncompiled loop too")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        name, pages, flight, seconds = chosen.one
        print(cell(name, Setting(pages=int(pages), flight=int(flight)), float(seconds))[0])
        return 0
    grid = LUSTRE.candidates()
    cells = [(name, setting) for name in NAMES if name.startswith("s_") for setting in grid][:: chosen.every]
    speeds, events, spent = [], 0, 0.0
    for number, (name, setting) in enumerate(cells):
        cost, happened = cell(name, setting, chosen.seconds)
        speeds.append((1 / max(cost, 1e-9), name, str(setting)))
        events, spent = events + happened, spent + cost * chosen.seconds
        if number % 100 == 99:
            print(f"{number + 1} of {len(cells)}", file=sys.stderr)
    document: dict[str, object] = {
        "cells": len(cells),
        "geomean": math.exp(sum(math.log(speed) for speed, _, _ in speeds) / len(speeds)),
        "worst": sorted(speeds)[:5],
        "events_per_s": events / spent,
        "memory": flat_memory(),
    }
    if chosen.uncompiled:
        name, setting = "s_rd_rn_1m", Setting(pages=8, flight=32)
        document["compiled_over_uncompiled"] = uncompiled(name, setting, 0.05) / cell(name, setting, 5.0)[0]
    print(json.dumps(document, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
