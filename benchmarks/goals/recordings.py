"""Goals on recordings of real clients, where they lie beside the project."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.fidelity import ROOT
from benchmarks.goals.goal import POLICY, Extent, Goal

from penstock.evaluate.figures import geomean
from penstock.evaluate.lab import Lab
from penstock.evaluate.replay import evaluate_replay
from penstock.evaluate.request import Terms
from penstock.knobs import Setting
from penstock.train.intervals import read_workloads

DATA = ROOT.parent / "shared" / "data"
SECONDS, SEEDS, START = 60.0, 5, Setting(pages=64, flight=1)


def replayed(lab: Lab, extent: Extent) -> Iterator[Goal]:
    """The public traces, from the default; our recordings of a slow client, from a bad start."""
    yield from _traces(DATA / "lustre-traces", extent)
    yield from _slow_client(DATA / "lustre-latency", extent)


def _traces(folder: Path, extent: Extent) -> Iterator[Goal]:
    if not folder.is_dir():
        print(f"goals: {folder} is not here: replay is left out", file=sys.stderr)
        return
    terms = Terms((POLICY,), SECONDS, seeds=SEEDS * extent.seeds)
    rows = evaluate_replay(read_workloads(folder), terms)["rows"]
    mine = {row["workload"]: row["policies"][POLICY] for row in rows}
    reads = [one["vs_best"] for name, one in mine.items() if "_r_" in name]
    ratios = [one["vs_default"] for one in mine.values()]
    group = "replay of public traces"
    yield Goal(group, "readers, share of the best", 0.93, geomean(reads))
    yield Goal(group, "all twelve, against the default", 1.11, geomean(ratios))
    yield Goal(group, "worst of them", 0.95, min(ratios))


def _slow_client(folder: Path, extent: Extent) -> Iterator[Goal]:
    if not folder.is_dir():
        print(f"goals: {folder} is not here: replay from a bad start is left out", file=sys.stderr)
        return
    workloads = [one for one in read_workloads(folder) if START in one.intervals]
    terms = Terms((POLICY,), SECONDS, seeds=SEEDS * extent.seeds)
    rows = evaluate_replay(workloads, terms, START)["rows"]
    found = geomean(row["policies"][POLICY]["final_vs_best"] for row in rows)
    yield Goal("replay of a slow client", "from 64 x 1: last tenth, share of the best", 0.95, found)
