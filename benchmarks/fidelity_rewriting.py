"""How faithful is the simulator where a program rewrites what is still in the client's page cache?

usage: ./run bench fidelity_rewriting [--data DIR] [--seeds 5] [--write]

Runs every recorded cell (random 1 MiB writes, one setting held for 18 s) and the recorded live switch on
`emulated-10ms`, and prints simulated beside measured values. `--write` also writes the figures to
docs/explanation/fidelity/rewriting.json and the page docs/explanation/fidelity.md. The recordings lie beside the
project; without them it does nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from benchmarks import fidelity
from benchmarks.rewriting.cells import FROM_S, Cell, Second, read_cells, read_switch
from benchmarks.rewriting.simulated import USUAL, held, switched

# "Within a third" of what was measured.
THIRD = 1.0 / 3.0
# The switch: at 20 s to 64 x 1, at 51 s back to the usual setting.
SWITCH_S, BACK_S, END_S = 20.0, 51.0, 70.0
LIMITS_MB = tuple(range(64, 321, 16))


def group_of(cell: Cell) -> str:
    """Cells that differ in pages and flight only, taken together."""
    streams = "1 stream" if cell.streams == 1 else f"{cell.streams} streams"
    return f"{cell.file_mb} MiB, {streams}, limit {cell.limit_mb}"


def compared(cell: Cell, seeds: int) -> dict[str, Any]:
    """One cell: what was measured, and the mean over the seeds of what was simulated."""
    runs = [held(cell, seed) for seed in range(1, seeds + 1)]
    late = [[second for second in run if second.t >= FROM_S] for run in runs]
    return {
        "group": group_of(cell),
        "pages": cell.pages,
        "flight": cell.flight,
        "app": mean(second.app for run in late for second in run),
        "wire": mean(second.wire for run in late for second in run),
        "real_app": cell.app,
        "real_wire": cell.wire,
        "host_wait": cell.host_wait,
        "set": cell.set,
        "steady": cell.is_steady,
        "out": cell.why_not,
        "kept_back": cell.kept_back,
    }


def ranks(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Rank correlation of throughput over the settings of every group; of a repeated cell the quietest run counts."""
    groups: dict[str, dict[tuple[int, int], dict[str, Any]]] = defaultdict(dict)
    for row in sorted(rows, key=lambda row: -float(row["host_wait"])):
        groups[row["group"]][row["pages"], row["flight"]] = row
    found = {}
    for name, of in sorted(groups.items()):
        if len(of) > 2:
            real, ours = (np.array([row[key] for row in of.values()]) for key in ("real_app", "app"))
            found[name] = fidelity.spearman(real, ours)
    return found


def within(rows: Sequence[dict[str, Any]]) -> float:
    """The share of cells whose throughput is within a third of what was measured."""
    return mean(abs(row["app"] / row["real_app"] - 1.0) <= THIRD for row in rows) if rows else float("nan")


def break_even(setting: tuple[int, int], seeds: int) -> float:
    """The least limit, as a part of the file, under which a setting beats the usual one, simulated."""
    ratios = []
    for limit_mb in LIMITS_MB:
        rates = [
            mean(
                second.app
                for seed in range(1, seeds + 1)
                for second in held(Cell.of(256, place, limit_mb), seed)
                if second.t >= FROM_S
            )
            for place in (setting, USUAL)
        ]
        ratios.append(rates[0] / rates[1])
    for at in range(1, len(ratios)):
        if ratios[at - 1] < 1.0 <= ratios[at]:
            part = (1.0 - ratios[at - 1]) / (ratios[at] - ratios[at - 1])
            return (LIMITS_MB[at - 1] + part * (LIMITS_MB[at] - LIMITS_MB[at - 1])) / 256.0
    return float("nan")


def real_break_even(cells: Sequence[Cell], setting: tuple[int, int]) -> float:
    """The same of a real client, from what it sends and what the usual setting reaches: app = wire / (1 - D/F)."""
    usual = mean(c.app for c in cells if c.is_plain and (c.pages, c.flight) == USUAL)
    return 1.0 - mean(c.wire for c in cells if c.is_plain and (c.pages, c.flight) == setting) / usual


def switch_figures(seconds: Sequence[Second]) -> dict[str, float]:
    """When a switch first shows, what the flusher takes while the new setting holds, and what going back costs."""
    before = mean(s.app for s in seconds if SWITCH_S / 2 < s.t <= SWITCH_S)
    shows = next((s.t for s in seconds if s.t > SWITCH_S and s.app > 1.5 * before), float("nan"))
    calm = mean(s.app for s in seconds if SWITCH_S + 2 < s.t <= 30.5)
    back = [s for s in seconds if BACK_S + 0.5 < s.t < END_S + 0.02]
    slow = next((at for at, s in enumerate(back) if s.app >= before), len(back))
    return {
        "before": before,
        "shows_after_s": shows - SWITCH_S,
        "calm": calm,
        "flushed": mean(s.app for s in seconds if 31.5 < s.t < 39.5),
        "later": mean(s.app for s in seconds if 39.5 < s.t <= BACK_S + 0.1),
        "back_s": float(slow),
        "back_mbps": mean(s.app for s in back[:slow]) if slow else before,
        "back_lost_mb": sum(before - s.app for s in back[:slow]),
        "after_back": mean(s.app for s in back),
    }


def measure(data: Path, seeds: int) -> dict[str, Any]:
    """All figures."""
    cells = read_cells(data)
    rows = [compared(cell, seeds) for cell in cells]
    judged = [row for row in rows if not row["out"]]
    runs = [switch_figures(switched(seed, END_S)) for seed in range(1, seeds + 1)]
    ours = {key: mean(run[key] for run in runs) for key in runs[0]}
    slow = [(256, 1), (64, 1), (16, 1)]
    return {
        "seeds": seeds,
        "cells": rows,
        "ranks": ranks([row for row in rows if row["steady"]]),
        "ranks_all": ranks(rows),
        "within": within(judged),
        "within_kept_back": within([row for row in judged if row["kept_back"]]),
        "within_all": within(rows),
        "break_even": [
            {
                "pages": p,
                "flight": f,
                "real": real_break_even(cells, (p, f)),
                "simulated": break_even((p, f), seeds),
            }
            for p, f in slow
        ],
        "switch": {"real": switch_figures(read_switch(data)), "simulated": ours},
    }


def show(found: dict[str, Any]) -> None:
    """The figures as text."""
    for row in found["cells"]:
        app, real = row["app"], row["real_app"]
        print(
            f"{row['set']:<6} {row['group']:<30} {row['pages']:>4} x {row['flight']}"
            f"  app {app:6.1f} for {real:6.1f} ({app / real:.2f})"
            f"  wire {row['wire']:5.1f} for {row['real_wire']:5.1f}"
            f"  {row['out'] or ('kept back' if row['kept_back'] else '')}"
        )
    for name, rank in found["ranks_all"].items():
        steady = found["ranks"].get(name, float("nan"))
        print(f"rank correlation, {name}: {steady:.2f} over steady cells, {rank:.2f} over all")
    print(
        f"within a third: {found['within']:.0%} of judged cells, {found['within_kept_back']:.0%} of those kept back, "
        f"{found['within_all']:.0%} of all"
    )
    for even in found["break_even"]:
        print(
            f"break-even D/F {even['pages']} x {even['flight']}: {even['simulated']:.2f} for {even['real']:.2f}"
        )
    for key, value in found["switch"]["real"].items():
        print(f"switch, {key}: {found['switch']['simulated'][key]:.1f} for {value:.1f}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shared = fidelity.ROOT.parent / "shared" / "data" / "lustre-rewriting"
    parser.add_argument("--data", type=Path, default=shared)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    if not chosen.data.is_dir():
        print(f"skipped: {chosen.data} is not there (recordings, not part of the project)", file=sys.stderr)
        return 0
    found = measure(chosen.data, chosen.seeds)
    show(found)
    if chosen.write:
        text = json.dumps(found, indent=1)
        (fidelity.OUT / "rewriting.json").write_text(text + "\n", encoding="utf-8")
        fidelity.write_page()
    return 0


if __name__ == "__main__":
    sys.exit(main())
