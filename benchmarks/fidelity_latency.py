"""How faithful is the simulator on a second real system: one slow core a node, a slow link, settings held?

usage: python benchmarks/fidelity_latency.py [--recordings DIR] [--seeds 20] [--only rtt10]

Runs every recorded cell as it was recorded (5 s, cold cache, flush included) on `emulated-10ms` and `emulated-2ms`,
writes docs/explanation/fidelity/latency.json and the page docs/explanation/fidelity.md. The recordings lie beside
the project; without them it does nothing.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from benchmarks import fidelity
from benchmarks.held import Held, run_held

from penstock.knobs import Setting
from penstock.simulate.cluster import builtin_cluster

CLUSTERS = {"rtt10": "emulated-10ms", "rtt2": "emulated-2ms"}
# Its own repeats agree with each other at .64 only (the recordings' README).
DISAGREES = "rr_64k_16"
Place = tuple[int, int]
Counted = dict[str, float]


def repeated(recordings: Path) -> dict[tuple[str, str], dict[Place, list[float]]]:
    """MB/s by link and workload, then by (pages, flight): one value a repeat, the sum of programs."""
    found: dict[tuple[str, str], dict[Place, list[float]]] = defaultdict(lambda: defaultdict(list))
    with (recordings / "cells.csv").open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            place = int(row["pages"]), int(row["flight"])
            found[row["link"], row["workload"]][place].append(sum(map(float, row["mbps"].split(";"))))
    return found


def at_best_of_a_repeat(cells: dict[Place, list[float]]) -> list[float]:
    """What each repeat has, of its own best, at the setting that was best in another one."""
    numbers = range(min(map(len, cells.values())))
    best = [max(cells, key=lambda place: cells[place][number]) for number in numbers]
    return [
        cells[best[other]][number] / cells[best[number]][number]
        for number in numbers
        for other in numbers
        if other != number
    ]


def counted(recordings: Path, link: str, work: str) -> dict[Place, Counted]:
    """RPC latency in ms and pages per RPC of every cell, from the first to the last probe, repeats together."""
    sums: dict[Place, list[Counted]] = defaultdict(list)
    for path in sorted(recordings.glob(f"{link}-{work}-*.jsonl.gz")):
        first: Counted | None = None
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                probe = json.loads(line)
                if "end" in probe:
                    first = None
                    continue
                seen = _sums(probe["files"])
                if first is None:
                    first = seen
                    sums[probe["pages"], probe["flight"]].append({})
                if seen:
                    sums[probe["pages"], probe["flight"]][-1] = {k: seen[k] - first.get(k, 0.0) for k in seen}
    return {place: _means(parts) for place, parts in sums.items()}


def _sums(files: dict[str, str]) -> Counted:
    """Number, microseconds and bytes of an OSC's RPCs, both directions together."""
    text = next((text for path, text in files.items() if "/osc/" in path and path.endswith("/stats")), "")
    rows = {words[0]: words for words in map(str.split, text.splitlines()) if len(words) > 6}
    total: Counted = defaultdict(float)
    for way in ("read", "write"):
        if f"ost_{way}" in rows and f"{way}_bytes" in rows:
            total["rpcs"] += float(rows[f"ost_{way}"][1])
            total["usec"] += float(rows[f"ost_{way}"][6])
            total["bytes"] += float(rows[f"{way}_bytes"][6])
    return dict(total)


def _means(parts: list[Counted]) -> Counted:
    rpcs, usec, size = (sum(part.get(key, 0.0) for part in parts) for key in ("rpcs", "usec", "bytes"))
    return {"rpc_ms": usec / rpcs / 1e3, "pages": size / 4096 / rpcs}


def simulated(link: str, work: str, places: list[Place], seeds: int) -> dict[Place, list[Held]]:
    cluster = builtin_cluster(CLUSTERS[link])
    return {
        (pages, flight): [
            run_held(cluster, work, Setting(pages=pages, flight=flight, dirty=256), seed)
            for seed in range(1, seeds + 1)
        ]
        for pages, flight in places
    }


def ties(rates: list[list[float]]) -> list[int]:
    """The best of some settings by their means over seeds, and all that chance does not tell from it.

    Settings that make no difference tie: then their real values count alike.
    """
    means = np.array([mean(of_one) for of_one in rates])
    errors = np.array(
        [np.std(of_one, ddof=1) / len(of_one) ** 0.5 if len(of_one) > 1 else 0.0 for of_one in rates]
    )
    top = int(means.argmax())
    slack = np.maximum(0.001 * means[top], np.hypot(errors, errors[top]))
    return [int(at) for at in np.flatnonzero(means >= means[top] - slack)]


def compare(
    link: str, work: str, repeats: dict[Place, list[float]], counters: dict[Place, Counted], seeds: int
) -> Any:
    real = {place: mean(values) for place, values in repeats.items()}
    places = sorted(real)
    runs = simulated(link, work, places, seeds)
    ours = np.array([mean(sum(run.mbps) for run in runs[place]) for place in places])
    theirs = np.array([real[place] for place in places])
    best = ties([[sum(run.mbps) for run in runs[place]] for place in places])
    latency = [mean(r.rpc_ms for r in runs[p]) / counters[p]["rpc_ms"] for p in places]
    pages = [mean(r.pages_per_rpc for r in runs[p]) / counters[p]["pages"] for p in places]
    return {
        "link": link,
        "workload": work,
        "counts": work != DISAGREES,
        "spearman": fidelity.spearman(theirs, ours),
        "level": float(np.exp(np.log(ours / theirs).mean())),
        "best": [places[at] for at in best],
        "at_best": mean(theirs[best].tolist()) / float(theirs.max()),
        "at_best_of_a_repeat": at_best_of_a_repeat(repeats),
        "rpc_ms_ratio": float(np.median(latency)),
        "rpc_ms_within_25": float(np.mean(np.abs(np.log(latency)) <= np.log(1.25))),
        "pages_ratio": float(np.median(pages)),
        "cells": [
            {"pages": p[0], "flight": p[1], "simulated": round(float(o), 2), "real": round(real[p], 2)}
            for p, o in zip(places, ours, strict=True)
        ],
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shared = fidelity.ROOT.parent / "shared" / "data" / "lustre-latency"
    parser.add_argument("--recordings", type=Path, default=shared)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", choices=list(CLUSTERS))
    chosen = parser.parse_args()
    if not chosen.recordings.is_dir():
        print(
            f"skipped: {chosen.recordings} is not there (recordings, not part of the project)",
            file=sys.stderr,
        )
        return 0
    found = []
    for (link, work), repeats in sorted(repeated(chosen.recordings).items()):
        if chosen.only in (None, link):
            started = time.perf_counter()
            counters = counted(chosen.recordings, link, work)
            found.append(compare(link, work, repeats, counters, chosen.seeds))
            took_s = time.perf_counter() - started
            print(f"{link} {work}: rho {found[-1]['spearman']:.3f}, {took_s:.0f} s", file=sys.stderr)
    if chosen.only is None:
        text = json.dumps({"seeds": chosen.seeds, "workloads": found}, indent=1)
        (fidelity.OUT / "latency.json").write_text(text + "\n", encoding="utf-8")
        fidelity.write_page()
    return 0


if __name__ == "__main__":
    sys.exit(main())
