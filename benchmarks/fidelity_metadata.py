"""How faithful is the simulator's metadata? Recorded cells of a real client beside simulated ones.

usage: ./run bench fidelity_metadata [--data DIR] [--seconds 5]

DIR holds `operations.csv` and `statahead.csv` in the format of our own measurements on a real 2.15.8 client
(tests/fixtures/lustre-metadata); the column `link` says which cluster plays a cell. Its server allowed 128 changes at
once. The numbers of `emulated-10ms` were fitted to the cells of its own link.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from benchmarks.fidelity import spearman

from penstock.evaluate.metadata_runs import run_metadata
from penstock.simulate.cluster import Cluster, find_cluster
from penstock.simulate.metadata.metadata_probe import MetadataWorld
from penstock.simulate.metadata.workloads import parse_metadata

DATA = Path(__file__).parents[1] / "tests" / "fixtures" / "lustre-metadata"
TWINS = {"rtt10": "emulated-10ms", "rtt2": "emulated-2ms"}
SERVER_ALLOWED, WARMUP_S, LISTING_S = 128, 1.0, 30.0


@dataclass(frozen=True, slots=True)
class Cell:
    """One recorded cell: its link, the name of its kind, the setting in words, operations a second of both."""

    link: str
    kind: str
    setting: str
    real: float
    ours: float


@cache
def twin(link: str) -> Cluster:
    """The cluster that plays a link."""
    return find_cluster(TWINS[link]).override({"metadata.mod_rpcs": str(SERVER_ALLOWED)})


def simulated(link: str, workload: str, seconds: float, wanted: Mapping[str, int]) -> float:
    """Operations a second of a cell."""
    world = MetadataWorld(twin(link), parse_metadata(workload))
    return run_metadata(world, (seconds, WARMUP_S), wanted).ops_per_s[0]


def cells(directory: Path, seconds: float) -> Iterator[Cell]:
    """All recorded cells, simulated."""
    for row in _rows(directory / "operations.csv"):
        knobs = {"rpcs": int(row["max_rpcs"]), "mod_rpcs": int(row["max_mod"])}
        ours = simulated(row["link"], f"md_{row['phase']}_{row['threads']}", seconds, knobs)
        kind = f"{row['phase']}, {row['threads']} threads"
        yield Cell(row["link"], kind, f"{knobs['rpcs']}:{knobs['mod_rpcs']}", float(row["ops_per_s"]), ours)
    for row in _rows(directory / "statahead.csv"):
        knobs = {"statahead": int(row["statahead_max"]), "rpcs": int(row["mdc_max_rpcs"])}
        ours = simulated(row["link"], "md_ls", max(seconds, LISTING_S), knobs)
        setting = f"{knobs['statahead']}/{knobs['rpcs']}"
        yield Cell(row["link"], "ls -l", setting, float(row["files_per_s"]), ours)


def rank_of(some: Sequence[Cell]) -> float:
    """How alike the order of cells is."""
    return spearman(np.array([cell.real for cell in some]), np.array([cell.ours for cell in some]))


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./run bench fidelity_metadata", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--seconds", type=float, default=5.0)
    asked = parser.parse_args(arguments)
    found = list(cells(asked.data, asked.seconds))
    print("link   work                 rpcs:mod_rpcs or statahead/rpcs  recorded  simulated  ratio")
    for cell in found:
        print(
            f"{cell.link:6} {cell.kind:20} {cell.setting:>31}  {cell.real:8.1f}  {cell.ours:9.1f}"
            f"  {cell.ours / cell.real:5.2f}"
        )
    for link in dict.fromkeys(cell.link for cell in found):
        for name, lists in (("operations", False), ("listings", True)):
            some = [cell for cell in found if cell.link == link and (cell.kind == "ls -l") == lists]
            off = [abs(cell.ours / cell.real - 1) for cell in some]
            print(
                f"{link}, {name}: rank correlation over {len(some)} cells {rank_of(some):.2f}, "
                f"off by {np.mean(off):.0%} on average, {max(off):.0%} at most"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
