"""What the simulator is worth to a tuner: are its best settings good in reality, and does what it teaches hold there?

usage: ./run bench fidelity_tuner [--only NAME ...] [--steps 120] [--walk-seconds 62] [--workers N]

Two goals beside docs/explanation/fidelity.md's. The real value of the setting that is best in simulation (held
there for a minute, chosen as for `best static`; the default where nothing is 2 % better), beside the real optimum.
And replay on the real traces of policies that know the simulator only: a survey and a forest of simulated runs, no
real row among them. For the one workload whose best setting fails in reality it also walks the simulator as the
traces were recorded. Writes docs/explanation/fidelity/tuner.json and the section of docs/explanation/fidelity.md.
Needs the traces beside the project.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks import fidelity, fidelity_real
from benchmarks.results import ROWS

from penstock.evaluate.evidence.asks import BEST, DEFAULT, Ask, RowFile
from penstock.evaluate.evidence.measuring import Evidence
from penstock.evaluate.figures import geomean
from penstock.evaluate.lab import Lab
from penstock.evaluate.ownmodels import OwnWorld, own_models
from penstock.evaluate.replay import ReplayTerms, evaluate_replay
from penstock.evaluate.store import Store, default_directory
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.protocol import random_walk, recorded_rhythm
from penstock.spaces import LUSTRE
from penstock.train.intervals import read_workloads
from penstock.workload import parse_workload

CLUSTER, SECONDS = "c220g5", 60.0
CLEARLY = 1.02
USUAL = (1024, 8)
ECHOING = "rnd_w_1_io_8k"
TAUGHT = ("weir", "carat", "carat-tuned")


def say(text: str) -> None:
    print(f"fidelity: {text}", file=sys.stderr, flush=True)


def best_settings(evidence: Evidence, names: list[str], traces: Path) -> list[dict[str, Any]]:
    """A row for each workload: the simulator's best setting, there and in reality, and the real optimum."""
    asks = {
        (name, label): Ask("static", CLUSTER, fidelity.NAMES[name], label, SECONDS, 0)
        for name in names
        for label in (DEFAULT, BEST)
    }
    found = evidence.measure(list(asks.values()))
    rows = []
    for name in names:
        usual, best = (found[asks[name, label]] for label in (DEFAULT, BEST))
        setting = best.setting if best.app > CLEARLY * usual.app and best.setting else USUAL
        real = fidelity_real.surface(traces, name)
        rows.append(
            {
                "workload": name,
                "setting": list(setting),
                "simulated": best.app / usual.app if tuple(setting) != USUAL else 1.0,
                "real": real[setting[0], setting[1]] / real[USUAL],
                "real_optimum": max(real.values()) / real[USUAL],
            }
        )
    return rows


def walked(setting: list[int], seconds: float) -> dict[str, float]:
    """A setting in a walk as the traces were recorded: against the default, and against the mean of all."""
    name = fidelity.NAMES[ECHOING]
    plan = named_plan(builtin_cluster(CLUSTER), name, seed=7)
    cells = random_walk(plan, LUSTRE.candidates(), seconds, recorded_rhythm(parse_workload(name)))
    rates = {(cell.setting["pages"], cell.setting["flight"]): cell.app_mbps for cell in cells}
    mine, mean = rates[setting[0], setting[1]], sum(rates.values()) / len(rates)
    return {"vs_default": mine / rates[USUAL], "vs_mean": mine / mean, "seconds": seconds}


def replayed(names: list[str], traces: Path, steps: int, workers: int) -> dict[str, Any]:
    """Policies that were taught by the simulator alone, in a closed loop over real rows."""
    made = own_models(
        OwnWorld(builtin_cluster(CLUSTER)), TAUGHT, default_directory() / "models", workers, say
    )
    workloads = [each for each in read_workloads(traces) if each.name in names]
    found: dict[str, Any] = {}
    for policy in TAUGHT:
        terms = ReplayTerms((policy,), steps=steps, seeds=3, model=made[policy])
        rows = evaluate_replay(workloads, terms)["rows"]
        found[policy] = {row["workload"]: row["policies"][policy]["vs_default"] for row in rows}
    return found


def section(document: dict[str, Any]) -> str:
    """The section of docs/explanation/fidelity.md."""
    rows, replays = document["settings"], document["replay"]
    ten = [row for row in rows if not row["workload"].endswith("_8k") or row["workload"].startswith("seq")]
    real, most = (geomean(row[key] for row in ten) for key in ("real", "real_optimum"))
    lines = [
        "## What it is worth to a tuner",
        "",
        f"The setting that is best when held in simulation brings {real:.3f} of the default in reality over "
        f"{len(ten)} workloads (without small random ones); the real optimum, luck of choosing among 99 included, "
        f"{most:.3f}. Replay: policies taught by the simulator alone, in a closed loop over real rows.",
        "",
        "| workload | best setting | simulated | real | real optimum | " + " | ".join(replays) + " |",
        "|---" * (5 + len(replays)) + "|",
    ]
    for row in rows:
        cells = [f"{row['setting'][0]} x {row['setting'][1]}"]
        cells += [f"{row[key]:.2f}" for key in ("simulated", "real", "real_optimum")]
        cells += [f"{replays[policy].get(row['workload'], float('nan')):.2f}" for policy in replays]
        lines.append(f"| {row['workload']} | " + " | ".join(cells) + " |")
    means = [f"{geomean(each.values()):.3f}" for each in replays.values()]
    lines += [f"| geometric mean | | | {real:.3f} | {most:.3f} | " + " | ".join(means) + " |", ""]
    walk = document.get("walk")
    if walk is not None:
        lines += [
            f"`{ECHOING}` is the one whose best setting fails in reality. Held in simulation it brings "
            f"{walk['held']:.2f}; in a walk as the traces were recorded, {walk['vs_default']:.2f} of the default and "
            f"{walk['vs_mean']:.2f} of the mean of all settings, where the real walk has {walk['real_vs_mean']:.2f}. "
            "A walk credits an interval with what the backlog of earlier settings lets it write, so it cannot show "
            "what a setting brings when held: the real figure is of the protocol, not of the setting. Only a real "
            "client that holds both settings can settle it.",
            "",
        ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", choices=list(fidelity.NAMES), default=list(fidelity.NAMES))
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--walk-seconds", type=float, default=62.0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--traces", type=Path, default=fidelity.ROOT.parent / "shared" / "data" / "lustre-traces"
    )
    parser.add_argument("--out", type=Path, default=fidelity.OUT / "tuner.json")
    chosen = parser.parse_args()
    if not chosen.traces.is_dir():
        say(f"skipped: {chosen.traces} is not there (real traces, not part of the project)")
        return 0
    with Lab(Store(default_directory()), chosen.workers) as lab:
        evidence = Evidence(lab, RowFile(ROWS), default_directory() / "models", say)
        rows = best_settings(evidence, chosen.only, chosen.traces)
    document: dict[str, Any] = {"settings": rows}
    document["replay"] = replayed(chosen.only, chosen.traces, chosen.steps, chosen.workers)
    for row in (each for each in rows if each["workload"] == ECHOING and chosen.walk_seconds > 0):
        real = fidelity_real.surface(chosen.traces, ECHOING)
        there = real[row["setting"][0], row["setting"][1]] / (sum(real.values()) / len(real))
        walk = walked(row["setting"], chosen.walk_seconds)
        document["walk"] = {**walk, "held": row["simulated"], "real_vs_mean": there}
    chosen.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if chosen.out == fidelity.OUT / "tuner.json":
        fidelity.write_page()
    print(section(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
