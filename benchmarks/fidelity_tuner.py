"""What the simulator is worth to a tuner: are its best settings good in reality, and does what it teaches hold there?

usage: ./run bench fidelity_tuner [--only NAME ...] [--policy NAME ...] [--walk-seconds 62]
                                  [--workers N]

Two goals beside docs/explanation/fidelity.md's. The real value of the setting that is best in simulation (held
there for a minute, chosen as for `best static`; the default where nothing is 2 % better), beside the real optimum.
And replay on the real traces of policies that know the simulator only: a survey and a forest of simulated runs, no
real row among them. For the one workload whose best setting fails in reality it also walks the simulator as the
traces were recorded, and asks real and simulated rows the same questions (`fidelity_writes`). Writes
docs/explanation/fidelity/tuner.json and the section of docs/explanation/fidelity.md. Needs the traces beside the
project.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import fidelity, fidelity_real, fidelity_writes
from benchmarks.evidence import replays
from benchmarks.evidence.asks import BEST, DEFAULT, Ask
from benchmarks.evidence.measuring import Evidence
from benchmarks.fidelity_page import SMALL_RANDOM, Goal

from penstock.evaluate.figures import geomean
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import OWN
from penstock.evaluate.store import Store, default_directory

CLUSTER, SECONDS, SEEDS = "c220g5", 60.0, 5
CLEARLY = 1.02
USUAL = (1024, 8)
# What the simulator's best settings were worth in reality before its mechanisms of random writes.
BEST_BEFORE = 1.069
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


def echoed(row: dict[str, Any], traces: Path, seconds: float) -> dict[str, Any]:
    """The same questions to the real walk's rows and to a simulated walk's."""
    setting = (row["setting"][0], row["setting"][1])
    real = [table for _, table in fidelity_writes.real_intervals(traces, ECHOING)]
    walk = fidelity_writes.simulated_intervals(fidelity.NAMES[ECHOING], CLUSTER, seconds)
    return {
        "setting": list(setting),
        "held": row["simulated"],
        "real": fidelity_writes.echo(real, setting),
        "simulated": fidelity_writes.echo(fidelity_writes.chunks(walk), setting),
    }


def replayed(evidence: Evidence, names: list[str], policies: list[str]) -> dict[str, Any]:
    """Policies that were taught by the simulator alone, in a closed loop over real rows: means over five seeds."""
    found: dict[str, Any] = {}
    for policy in policies:
        guard = "on" if policy == "weir" else "off"
        asks = {
            name: [
                Ask(replays.EXPERIMENT, replays.TRACES, name, policy, replays.STEPS, seed, OWN, guard)
                for seed in range(SEEDS)
            ]
            for name in names
        }
        usual = {name: replace(mine[0], label=DEFAULT, model="", guard="") for name, mine in asks.items()}
        rows = evidence.measure([*usual.values(), *(ask for mine in asks.values() for ask in mine)])
        found[policy] = {
            name: fmean(rows[ask].app for ask in mine) / rows[usual[name]].app for name, mine in asks.items()
        }
    return found


def section(document: dict[str, Any]) -> str:
    """The section of docs/explanation/fidelity.md."""
    rows, replays = document["settings"], document["replay"]
    ten = of_ten(rows)
    real, most = (geomean(row[key] for row in ten) for key in ("real", "real_optimum"))
    means = " and ".join(f"{geomean(each.values()):.3f} (`{policy}`)" for policy, each in replays.items())
    lines = [
        "## What it is worth to a tuner",
        "",
        f"The setting that is best when held in simulation brings {real:.3f} of the default in reality over "
        f"{len(ten)} workloads (without small random ones); the real optimum, luck of choosing among 99 included, "
        f"{most:.3f}. Policies taught by the simulator alone, in a closed loop over real rows, bring {means}.",
        "",
    ]
    return "\n".join(lines)


def _settings(document: dict[str, Any]) -> list[str]:
    """Every workload: the setting that is best in simulation, what it brings in reality, and the replays."""
    rows, replays = document["settings"], document["replay"]
    lines = [
        "| workload | best setting | simulated | real | real optimum | " + " | ".join(replays) + " |",
        "|---" * (5 + len(replays)) + "|",
    ]
    for row in rows:
        cells = [f"{row['setting'][0]} x {row['setting'][1]}"]
        cells += [f"{row[key]:.2f}" for key in ("simulated", "real", "real_optimum")]
        cells += [f"{replays[policy].get(row['workload'], float('nan')):.2f}" for policy in replays]
        lines.append(f"| {row['workload']} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def tables(document: dict[str, Any]) -> str:
    """What the page leaves out: every workload, the real walk's rows of the setting that fails, and the devices of
    random writes.
    """
    lines = _settings(document)
    lines += _echoed(document["echo"]) if "echo" in document else []
    if "flash" in document:
        lines += _slowed(document["flash"])
    return "\n".join(lines)


def goals(document: dict[str, Any]) -> list[Goal]:
    """The goals that matter to a tuner, for the page's table."""
    ten = of_ten(document["settings"])
    real, least = geomean(row["real"] for row in ten), min(row["real"] for row in ten)
    means = {policy: geomean(each.values()) for policy, each in document["replay"].items()}
    told = ", ".join(f"{policy} {value:.3f}" for policy, value in means.items())
    return [
        ("real value of the best simulated setting, mean of ten > 1.069", f"{real:.3f}", real > BEST_BEFORE),
        ("the same, each of ten >= 1", f"least {least:.3f}", least >= 1.0),
        ("replay of what the simulator alone taught, each policy >= 1", told, min(means.values()) >= 1.0),
    ]


def of_ten(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the two small random workloads, whose surfaces are flat or noise."""
    return [row for row in rows if row["workload"] not in SMALL_RANDOM]


def _echoed(found: dict[str, Any]) -> list[str]:
    real, walk, pages = found["real"], found["simulated"], found["setting"]
    return [
        f"### Why the best setting of `{ECHOING}` fails in reality",
        "",
        f"Held in simulation, {pages[0]} x {pages[1]} brings {found['held']:.2f} of the default; its mean in the "
        f"real walk is {_interval(real['app'])}. That figure says little: some hundred half-seconds, and each "
        "inherits from earlier settings how full the cache is and when the flusher last ran. The rows themselves "
        "say more, split by iteration (95 % intervals):",
        "",
        f"| {pages[0]} x {pages[1]} against the default | real walk | simulated walk |",
        "|---|---|---|",
        *(
            f"| {words} | {_interval(real[key])} | {_interval(walk[key])} |"
            for key, words in (
                ("app", "application, all intervals"),
                ("wire", "wire, all intervals"),
                ("app_backlog", "application, with a backlog before and after"),
                ("wire_backlog", "wire, with a backlog before and after"),
            )
        ),
        "",
        f"Where {fidelity_writes.BACKLOG_MB:.0f} MB wait before and after an interval, the setting itself decides "
        "how fast a writer goes on. There the setting is better than the default in reality too. So the real mean "
        "is of the protocol, not of the setting, and no contradiction to the simulator's figure; how much the "
        "setting brings when a real client holds it, these traces cannot tell.",
        "",
    ]


def _slowed(found: dict[str, Any]) -> list[str]:
    lines = [
        "### Why random writes are too fast on the wire",
        "",
        "Real random writes against real sequential ones, on the wire:",
        "",
        "| calls | all | least and most over every value of both knobs | by OST | random, first and last tenth of a "
        "run | sequential |",
        "|---|---|---|---|---|---|",
    ]
    for size, one in found.items():
        osts = ", ".join(f"{ost}: {value:.2f}" for ost, value in one["by_ost"].items())
        ends = [
            " to ".join(f"{each:.0f}" for each in one[f"{kind}_first_last"])
            for kind in ("random", "sequential")
        ]
        low, high = one["by_knob"]
        lines.append(
            f"| {size} | {one['whole']:.2f} | {low:.2f} to {high:.2f} | {osts} | {ends[0]} | {ends[1]} |"
        )
    return [
        *lines,
        "",
        "The loss is the same whatever the knobs are, and it differs from OST to OST: it is the devices, not a "
        "mechanism of client, network or server. Most of it is there from the first tenth of a run; all writes, "
        "sequential ones too, then fall by a tenth. The simulated device is the mean of sequential runs and has "
        "neither. Because the loss does not depend on the knobs, it moves levels, not ranks.",
        "",
    ]


def _interval(found: list[float]) -> str:
    value, low, high = found
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", choices=list(fidelity.NAMES), default=list(fidelity.NAMES))
    parser.add_argument("--policy", nargs="*", choices=TAUGHT, default=list(TAUGHT))
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
        evidence = Evidence(lab, default_directory() / "models", say, chosen.traces)
        rows = best_settings(evidence, chosen.only, chosen.traces)
        taught = replayed(evidence, chosen.only, chosen.policy)
    document: dict[str, Any] = {"settings": rows, "replay": taught}
    for row in (each for each in rows if each["workload"] == ECHOING and chosen.walk_seconds > 0):
        document["echo"] = echoed(row, chosen.traces, chosen.walk_seconds)
        document["flash"] = {size: fidelity_writes.flash(chosen.traces, size) for size in ("1m", "16m")}
    chosen.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if chosen.out == fidelity.OUT / "tuner.json":
        fidelity.write_page()
    print(section(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
