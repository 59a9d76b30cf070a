"""Every goal of the shipped policy in one table.

usage: ./run bench tuner [--quick] [--only GROUP]... [--write]

Whole, it takes about six hours on two cores: three seeds, 60 random worlds of ten minutes with the best setting
searched, four rivals guarded and not. `--quick` takes a third of the worlds and one seed. Runs are kept in the user's
cache by what their policy does, so an interrupted run goes on where it stopped. `--write` writes the page goals.md
beside weir.md and its table of figures; groups that were not asked for stay as the page has them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import agent
from benchmarks.evidence.page_table import PageTable, commit_here, read_table, tables_of, write_page
from benchmarks.goals import recordings, workloads, worlds
from benchmarks.goals.goal import POLICY, QUICK, WHOLE, Extent, Goal

from penstock.evaluate.drivers import Course
from penstock.evaluate.lab import Lab
from penstock.evaluate.marks import Marks
from penstock.evaluate.store import Store, default_directory
from penstock.report.page import Section, Table, markdown

DOCS = Path(__file__).parent.parent / "docs" / "explanation"
PAGE, TABLE = DOCS / "goals.md", DOCS / "goals" / "figures.json"
HEADING = ["of", "what", "wanted", "measured", "met"]
TITLE = "Goals of the shipped policy"
LEAD = (
    "Written by `./run bench tuner --write`; do not edit. What `weir` must reach, as shipped and guarded, and what "
    "it reaches. Simulation, but for the replays of recordings. Ratios are to the default unless a line "
    "says otherwise. The figures for programs: [goals/figures.json](goals/figures.json).",
)
MOST_CORE_PERCENT = 19.0
OSCS, PASSES = 1008, 30


def cost(lab: Lab, extent: Extent) -> Iterator[Goal]:
    """What the agent costs a node with so many busy targets."""
    found = agent.apart(agent.Node(OSCS, OSCS, POLICY), PASSES)["core_percent"]
    yield Goal("cost", f"per cent of a core at {OSCS:,} busy targets", MOST_CORE_PERCENT, found, at_most=True)


GROUPS: Mapping[str, Callable[[Lab, Extent], Iterator[Goal]]] = {
    "static": workloads.static,
    "rewriting": worlds.rewriting,
    "replay": recordings.replayed,
    "sequences": workloads.sequences,
    "lists": workloads.lists,
    "adversaries": worlds.adversaries,
    "worlds": worlds.random_worlds,
    "rivals": worlds.rivals,
    "cost": cost,
}
#: Groups whose worlds are drawn.
DRAWN = ("adversaries", "worlds", "rivals")


def sections(lab: Lab, names: Sequence[str], extent: Extent) -> dict[str, Section]:
    """A section for each group, measured now."""
    found = {}
    for name in names:
        started = time.monotonic()
        rows = [goal.row for goal in GROUPS[name](lab, extent)]
        found[name] = Section(name, (f"{scope(extent, name)}.",), (), [Table(HEADING, rows)])
        print(f"tuner: {name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return found


def scope(extent: Extent, name: str) -> str:
    """How much was run of a group, in words."""
    seeds = f"Means over {extent.seeds} seeds" if extent.seeds > 1 else "One seed"
    return f"{seeds}, {extent.worlds:.0%} of the worlds" if name in DRAWN and extent.worlds < 1.0 else seeds


def written(fresh: Mapping[str, Section], marks: Mapping[str, str]) -> str:
    """Write the page and its table, with the groups of before where they were not measured now."""
    parts = dict(fresh)
    if TABLE.exists():
        before, page = read_table(TABLE), PAGE.read_text(encoding="utf-8")
        for name, ((heading, *rows),) in before.tables.items():
            parts.setdefault(name, Section(name, (_said(page, name),), (), [Table(heading, rows)]))
    ordered = [parts[name] for name in GROUPS if name in parts]
    table = PageTable(commit_here(), marks, tables_of(ordered))
    return write_page(TABLE, table, TITLE, LEAD, ordered)


def _said(page: str, name: str) -> str:
    """The sentence of a section on the page."""
    return page.partition(f"\n## {name}\n\n")[2].partition("\n")[0]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one seed, a third of the worlds")
    parser.add_argument("--only", action="append", choices=tuple(GROUPS), help="only this group; repeat")
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--scale", type=float, default=1.0, help="shorten all runs")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cache-dir", type=Path, default=default_directory())
    return parser.parse_args()


def main() -> None:
    """Measure what is asked for; print it or write the page."""
    chosen = options()
    extent = QUICK if chosen.quick else WHOLE
    extent = Extent(extent.seeds, extent.worlds * min(1.0, chosen.scale), chosen.scale)
    with Lab(Store(chosen.cache_dir), chosen.workers) as lab:
        found = sections(lab, chosen.only or tuple(GROUPS), extent)
    if chosen.write:
        drawn = {
            policy: Marks(chosen.cache_dir).find(Course(0.0, 0.0, policy=policy))
            for policy in ("default", POLICY)
        }
        print(written(found, drawn))
    else:
        print(markdown(TITLE, LEAD, list(found.values())))


if __name__ == "__main__":
    main()
