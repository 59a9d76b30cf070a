"""The baseline: five policies on all that tuners are judged by, on both clusters, as one table.

usage: ./run bench baseline [--only SECTION]... [--quick] [--write]

One seed. Runs are kept in the user's cache by the mark of what drives them (CONTRIBUTING.md), so an interrupted run
goes on where it stopped; most of them are also runs of `./run bench claims`. `--write` writes baseline.md beside
judged-by.md and the table of its figures after every section: sections that were not asked for stay as the page has
them if all policies still behave as they did, else they go. Of the sections the page shows the cases in which `weir`
loses; the table has all. `--quick` takes runs of 20 s, 10 worlds and no sequence that is slow to simulate; every case
is printed, nothing written.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.evidence.baseline_rows import (
    POLICIES,
    SECTIONS,
    WORLDS,
    Ratios,
    asks,
    ratios,
    section_of,
    summary,
)
from benchmarks.evidence.measuring import Evidence
from benchmarks.evidence.page_table import (
    PageTable,
    commit_here,
    read_table,
    shortened,
    tables_of,
    write_page,
)

from penstock.evaluate.comparison import compare
from penstock.evaluate.drivers import Course
from penstock.evaluate.lab import Lab
from penstock.evaluate.marks import Marks
from penstock.evaluate.request import Terms
from penstock.evaluate.store import Store, default_directory
from penstock.evaluate.world_figures import policy_figures
from penstock.report.page import Section, Table, markdown
from penstock.train.draws import draw_worlds

DOCS = Path(__file__).parent.parent / "docs" / "explanation"
TABLE = DOCS / "baseline" / "figures.json"
#: Below this part of the default a case is on the page.
LOSS = 0.95
SECONDS, QUICK_S = 60.0, 20.0
DRAW_SEED, DRAWS, QUICK_DRAWS, WORLD_S = 43, 30, 10, 120.0
TITLE = "Baseline: five policies on all that tuners are judged by"
LEAD = (
    "Written by `./run bench baseline --write`; do not edit. What the sections are: [judged-by.md](judged-by.md). "
    f"Below the summary are the cases in which `weir` gets less than {LOSS:g} of the default; "
    "[baseline/figures.json](baseline/figures.json) has every case. Ceilings are what `penstock evaluate` prints.",
    "Simulation, one seed, ratios to the default. `weir` runs as shipped, with its guard and the shipped survey; the "
    "others without a guard, with a model of the cluster they are measured on, in random worlds with the shipped "
    "one. Runs and phases last 60 s; applications do a fixed amount of work; `table-v` has two processes on two "
    "servers and on one. **worlds** are 30 worlds drawn at random ([worlds.md](../reference/worlds.md), seed 43), "
    "120 s each.",
)


def measured(lab: Lab, evidence: Evidence, section: str, *, quick: bool) -> Ratios:
    """Every case of a section under every policy."""
    if section == WORLDS:
        worlds = list(draw_worlds(DRAW_SEED, QUICK_DRAWS if quick else DRAWS))
        terms = Terms(tuple(POLICIES), QUICK_S if quick else WORLD_S)
        return {
            row.world.name: {policy: policy_figures(row, policy).vs_default for policy in POLICIES}
            for row in compare(lab, worlds, terms, search=False)
        }
    return ratios(evidence.measure(asks(section, QUICK_S if quick else SECONDS, quick=quick)))


def kept(marks: Mapping[str, str]) -> dict[str, Section]:
    """The sections that the page has, if what they were measured with behaves as before."""
    before = read_table(TABLE) if TABLE.exists() else PageTable("", {}, {})
    if before.marks != marks:
        return {}
    return {
        name: Section(name, (), (), [Table(rows[0], rows[1:])])
        for name in SECTIONS
        for rows in before.tables.get(name, ())
    }


def page_of(known: Mapping[str, Section]) -> list[Section]:
    """The summary, then the sections in their order."""
    return [summary(known), *(known[name] for name in SECTIONS if name in known)]


def write(fresh: Mapping[str, Section], marks: Mapping[str, str], commit: str) -> str:
    """The page and its table, with the sections of before that were not measured now."""
    parts = page_of({**kept(marks), **fresh})
    shown = [parts[0], *shortened(parts[1:], losses)]
    return write_page(TABLE, PageTable(commit, marks, tables_of(parts)), TITLE, LEAD, shown)


def losses(section: Section) -> Section | None:
    """The cases of a section in which the first policy loses, if any."""
    (table,) = section.tables
    lost = [row for row in table.rows if float(row[1]) < LOSS]
    return Section(section.title, (), (), [Table(table.heading, lost)]) if lost else None


def say(text: str) -> None:
    print(f"baseline: {text}", file=sys.stderr, flush=True)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, help="only this section; may be repeated"
    )
    parser.add_argument("--quick", action="store_true", help="short runs; the page is printed")
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cache-dir", type=Path, default=default_directory())
    return parser.parse_args()


def present_marks(directory: Path) -> dict[str, str]:
    """The marks of the program as it is."""
    marks = Marks(directory)
    return {policy: marks.find(Course(0.0, 0.0, policy=policy)) for policy in sorted(("default", *POLICIES))}


def main() -> None:
    chosen = options()
    write_it = chosen.write and not chosen.quick
    commit, found = commit_here(), dict[str, Section]()
    with Lab(Store(chosen.cache_dir), chosen.workers) as lab:
        marks = present_marks(chosen.cache_dir) if write_it else {}
        evidence = Evidence(lab, chosen.cache_dir / "models", say)
        for name in chosen.only or SECTIONS:
            started = time.monotonic()
            found[name] = section_of(name, measured(lab, evidence, name, quick=chosen.quick))
            say(f"{name}: {time.monotonic() - started:.0f} s")
            if write_it:
                say(write(found, marks, commit))
    if not write_it:
        print(markdown(TITLE, LEAD, page_of(found)))


if __name__ == "__main__":
    main()
