"""How faithful is the simulator's readahead? Recorded cells of a real client beside simulated ones.

usage: ./run bench fidelity_readahead [--data FILE.csv] [--seconds 7]

FILE.csv has the columns of our own measurements on a real 2.15.8 client over a link of 10 ms and 400 Mbit/s
(`workload`, the limits in MiB, `mbps`, counts of `read_ahead_stats`). Each cell was held for 7 s. The recordings lie
beside the project; without them it does nothing.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.fidelity import spearman

from penstock.knobs import Setting
from penstock.simulate.cluster import find_cluster
from penstock.simulate.reading.reading_client import ReadingClient
from penstock.simulate.reading.reading_workloads import parse_reading

DATA = Path(__file__).parents[2] / "shared" / "data" / "lustre-readahead" / "cells.csv"
TWIN = "emulated-10ms"
WORKLOADS = {"s64k1": "ra_seq_64k_1", "s1m1": "ra_seq_1m_1", "s1m4": "ra_seq_1m_4", "r1m4": "ra_rand_1m_4"}
COLUMNS = {"ahead_total": "max_read_ahead_mb", "ahead_file": "per_file_mb", "ahead_whole": "whole_mb"}
#: The threshold in force while the cells were recorded.
ASYNC_MIB = 30
#: The cells that the costs of pages and the place of replies were fitted to: workload, and MiB a file.
FITTED = frozenset({("s64k1", 0), ("s1m1", 0), ("s64k1", 30), ("s1m1", 30)})


@dataclass(frozen=True, slots=True)
class Compared:
    """One cell: MB/s, batches that another thread asked for, both as recorded and as simulated."""

    workload: str
    setting: Setting
    real: float
    ours: float
    real_async: int
    ours_async: int

    @property
    def is_fitted(self) -> bool:
        """Whether parameters were chosen by it."""
        return (self.workload, self.setting["ahead_file"]) in FITTED


def compared(row: Mapping[str, str], seconds: float) -> Compared:
    """One recorded cell, simulated."""
    setting = Setting(
        {knob_id: int(row[column]) for knob_id, column in COLUMNS.items()} | {"ahead_async": ASYNC_MIB}
    )
    client = ReadingClient(find_cluster(TWIN), parse_reading(WORKLOADS[row["workload"]]), setting=setting)
    client.engine.run_until(seconds)
    ours, by_itself = client.reads.bytes / seconds / 1e6, client.reads.by_itself
    return Compared(
        row["workload"], setting, float(row["mbps"]), ours, int(row["ra_async_readahead"] or 0), by_itself
    )


def rank_of(cells: Sequence[Compared]) -> float:
    """How alike the order of the settings is; NaN where the simulated ones are all alike."""
    real, ours = (np.array([getattr(cell, name) for cell in cells]) for name in ("real", "ours"))
    return spearman(real, ours) if np.ptp(ours) > 0 else float("nan")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./run bench fidelity_readahead", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--seconds", type=float, default=7.0)
    asked = parser.parse_args(arguments)
    if not asked.data.exists():
        print(f"fidelity_readahead: no recordings at {asked.data}", file=sys.stderr)
        return 0
    with asked.data.open(newline="", encoding="utf-8") as lines:
        cells = [compared(row, asked.seconds) for row in csv.DictReader(lines)]
    print("workload  limits (total:file:whole MiB)  recorded  simulated  ratio  batches by another thread")
    for cell in cells:
        limits = ":".join(str(cell.setting[knob_id]) for knob_id in COLUMNS)
        mark = " fitted" if cell.is_fitted else ""
        print(
            f"{cell.workload:8}  {limits:>12}  {cell.real:6.1f}  {cell.ours:6.1f}  {cell.ours / cell.real:5.2f}"
            f"  {cell.real_async:3d} {cell.ours_async:3d}{mark}"
        )
    for workload in WORKLOADS:
        mine = [cell for cell in cells if cell.workload == workload]
        print(f"{workload}: rank correlation over {len(mine)} settings {rank_of(mine):.2f}")
    unfitted = [cell for cell in cells if not cell.is_fitted]
    off = [abs(cell.ours / cell.real - 1) for cell in unfitted]
    print(f"all {len(cells)} cells: rank correlation {rank_of(cells):.2f}")
    print(
        f"{len(unfitted)} cells that nothing was fitted to: rank correlation {rank_of(unfitted):.2f}, "
        f"off by {np.mean(off):.0%} on average, {max(off):.0%} at most"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
