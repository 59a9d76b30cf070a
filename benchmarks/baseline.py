"""The baseline: five policies on all that tuners are judged by, on both clusters, as one table and its details.

usage: ./run bench baseline [--write] [--cluster NAME]... [--set NAME]... [--only ROW]... [--policy NAME]...

Runs are kept in the user's cache by the mark of what drives them (CONTRIBUTING.md), so an interrupted run goes on
where it stopped. `--write` writes the page `baseline.md` beside results.md and the table of its figures if everything
was asked for; else the page is printed. How long each set took is said on the way.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.evidence.baseline_rows import (
    SETS,
    WORLDS,
    BaselineRow,
    rows_of,
    summary_table,
    tables,
    world_rows,
)
from benchmarks.evidence.page_table import PageTable, commit_here, tables_of, write_page

from penstock.evaluate.comparison import Terms
from penstock.evaluate.drivers import Course
from penstock.evaluate.experiments import EXPERIMENTS
from penstock.evaluate.lab import Lab
from penstock.evaluate.marks import Marks
from penstock.evaluate.request import Request
from penstock.evaluate.scenarios import evaluate_worlds
from penstock.evaluate.store import Store, default_directory
from penstock.report.page import Section, markdown
from penstock.simulate.cluster import find_cluster
from penstock.train.draws import draw_worlds

DOCS = Path(__file__).parent.parent / "docs" / "explanation"
TABLE = DOCS / "baseline" / "figures.json"
CLUSTERS = ("c220g5", "c6525-25g")
DRAWS, DRAW_SEED, WORLD_S = 30, 43, 120.0
ALL_SETS = (*SETS, WORLDS)
POLICIES = ("weir", "carat", "carat-authors", "dial", "greedy")
TITLE = "Baseline: five policies on the authors' experiments"
LEAD = (
    "Written by `./run bench baseline --write`; do not edit. The same figures for programs: "
    "[baseline/figures.json](baseline/figures.json). Simulation, one seed, shipped models; `weir` with its guard, "
    "the others without. Ratios to the default.",
    "**static**: 24 workloads; the ceiling is the best of 99 settings, without the dirty limit. **dynamic**: the "
    "CARAT authors' 12 sequences, phase by phase; the ceiling is each phase's own. **interference**: their 9 "
    "distinct lists of five clients, all together; the ceiling is a setting for each client. **applications**: fixed "
    "work, ratios of times; the ceiling is the best single setting, dirty limit included. **independent**: two "
    "processes of one client, the geometric mean of writer and reader; the ceiling is a setting for each. Ceilings "
    "come from a search on another seed. **worlds**: 30 worlds drawn at random "
    "([worlds.md](../reference/worlds.md), seed 43), 120 s each; no setting was searched.",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What to measure. Rows may be named by any set that knows them."""

    clusters: tuple[str, ...]
    sets: tuple[str, ...]
    only: tuple[str, ...]
    policies: tuple[str, ...]
    scale: float

    @property
    def everything(self) -> bool:
        """Whether the page may be written from it."""
        return self == Asked(CLUSTERS, ALL_SETS, (), POLICIES, 1.0)


def measure(lab: Lab, asked: Asked) -> list[BaselineRow]:
    """All rows, set by set, and how long each set took."""
    found: list[BaselineRow] = []
    for name in asked.sets:
        if name == WORLDS:
            found += [] if asked.only else measure_worlds(lab, asked)
            continue
        for cluster in asked.clusters:
            started = time.monotonic()
            only = tuple(row for row in asked.only if row in SETS[name].names)
            if asked.only and not only:
                continue
            seconds = max(1.0, EXPERIMENTS[name].seconds * asked.scale)
            request = Request(find_cluster(cluster), asked.policies, seconds, only=only)
            found += rows_of(name, EXPERIMENTS[name].run(lab, request))
            say(f"{name} on {cluster}: {time.monotonic() - started:.0f} s")
    return found


def measure_worlds(lab: Lab, asked: Asked) -> list[BaselineRow]:
    """The policies in worlds drawn at random."""
    started = time.monotonic()
    worlds = list(draw_worlds(DRAW_SEED, max(1, round(DRAWS * asked.scale))))
    terms = Terms(asked.policies, max(1.0, WORLD_S * asked.scale), 0, search=False)
    rows = world_rows(evaluate_worlds(lab, worlds, terms))
    say(f"{len(worlds)} worlds: {time.monotonic() - started:.0f} s")
    return rows


def sections(found: Sequence[BaselineRow], policies: Sequence[str]) -> list[Section]:
    """The summary, then every set on every cluster."""
    return [Section("Summary", (), (), [summary_table(found, policies)]), *tables(found, policies)]


def say(text: str) -> None:
    print(f"baseline: {text}", file=sys.stderr, flush=True)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--cluster", action="append", help=f"only this one of {', '.join(CLUSTERS)}")
    parser.add_argument("--set", action="append", choices=ALL_SETS, help="only this set; may be repeated")
    parser.add_argument("--only", action="append", default=[], help="only this row; may be repeated")
    parser.add_argument("--policy", action="append", help="only this policy; may be repeated")
    parser.add_argument("--scale", type=float, default=1.0, help="shorten all runs")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cache-dir", type=Path, default=default_directory())
    return parser.parse_args()


def main() -> None:
    chosen = options()
    asked = Asked(
        tuple(chosen.cluster or CLUSTERS),
        tuple(chosen.set or ALL_SETS),
        tuple(chosen.only),
        tuple(chosen.policy or POLICIES),
        chosen.scale,
    )
    started = time.monotonic()
    commit = commit_here()
    with Lab(Store(chosen.cache_dir), chosen.workers) as lab:
        parts = sections(measure(lab, asked), asked.policies)
    say(f"all of it: {time.monotonic() - started:.0f} s")
    if not (chosen.write and asked.everything):
        print(markdown(TITLE, LEAD, parts))
        return
    marks = Marks(chosen.cache_dir)
    drawn = {policy: marks.find(Course(0.0, 0.0, policy=policy)) for policy in sorted(("default", *POLICIES))}
    table = PageTable(commit, drawn, tables_of(parts))
    print(write_page(TABLE, table, TITLE, LEAD, parts))


if __name__ == "__main__":
    main()
