"""`penstock schedule optimum`: the exact optimum of a small set, and the distance of each heuristic from it."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Literal

import click

from penstock.cli.options import NearestChoice, console, emit_json, json_option, seed_option
from penstock.schedule.allocation import ALLOCATORS
from penstock.schedule.plan import allocate, place
from penstock.schedule.setfile import load_set

PLACED_BY = "greedy-non-clairvoyant"


@click.command(epilog="Example: penstock schedule optimum examples/schedule/set.json")
@click.argument("set_file", metavar="SET.json", type=click.Path(path_type=Path))
@click.option("--until", type=NearestChoice(["all", "first"]), default="all", show_default=True)
@seed_option
@json_option
def optimum(set_file: Path, until: Literal["all", "first"], seed: int, as_json: bool) -> None:
    """Try every schedule of a small set (about five applications on four resources) and keep the best."""
    from penstock.schedule.optimum import OBJECTIVES, optimise
    from penstock.schedule.simulation import simulate

    workload = load_set(set_file)
    names = [application.name for application in workload.applications]
    best = optimise(workload, until)
    least = {name: OBJECTIVES[name](found.outcome) for name, found in best.items()}
    rows: dict[str, dict[str, float]] = {}
    for allocator in ALLOCATORS:
        rng = Random(seed)
        allocated = allocate(workload, allocator, rng)
        outcome = simulate(workload, place(workload, allocated, PLACED_BY, rng), until)
        rows[allocator] = {name: objective(outcome) for name, objective in OBJECTIVES.items()}
    document = {
        "schedules": best["slowdown"].schedules,
        "optimum": {
            name: {
                "value": least[name],
                "placement": dict(zip(names, map(list, found.placement), strict=True)),
            }
            for name, found in best.items()
        },
        "heuristics": rows,
    }
    if as_json:
        emit_json(document)
        return
    _print(least, rows, best["slowdown"].schedules)


def _print(least: dict[str, float], rows: dict[str, dict[str, float]], schedules: int) -> None:
    from rich.table import Table

    table = Table(title=f"Best of {schedules} schedules, and {PLACED_BY} heuristics")
    for heading in ("", "mean slowdown", "over optimum", "machine idle time", "over optimum"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, row in {"optimum": least, **rows}.items():
        cells = []
        for key in ("slowdown", "idle"):
            over = row[key] / least[key] - 1 if least[key] > 0 else 0.0
            cells += [f"{row[key]:.4f}", f"{100 * over:.1f} %"]
        table.add_row(name, *cells)
    console().print(table)
