"""Measures the results and writes docs/explanation/results.md and the table of its figures.

usage: ./run bench results [--part NAME]... [--without POLICY]... [--case NAME]... [--seconds 60] [--seeds 5]
       ./run bench results --render    the page anew from its table; nothing is measured

Runs are kept in the user's cache by the mark of what drives them (CONTRIBUTING.md), so an interrupted run goes on
where it stopped, and only policies that behave differently are measured again. With less than everything the page is
printed and not written. Replay needs the real traces (--traces).
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.evidence import chapters, explained, first_page, replays
from benchmarks.evidence.asked import PARTS, Extent, asked
from benchmarks.evidence.asks import Ask, Found
from benchmarks.evidence.measuring import Evidence
from benchmarks.evidence.page_table import (
    PageTable,
    commit_here,
    rendered,
    shortened,
    tables_of,
    without_columns,
    write_page,
)
from benchmarks.evidence.paired_ratios import RatioBook

from penstock.evaluate.drivers import Course
from penstock.evaluate.lab import Lab
from penstock.evaluate.marks import Marks
from penstock.evaluate.store import Store, default_directory
from penstock.report.page import Section, Table, markdown

DOCS = Path(__file__).parent.parent / "docs" / "explanation"
TABLE = DOCS / "results" / "figures.json"
#: Whose behaviour the figures stand on; variants of `carat` count by it. `default` stands for runs without tuning.
MARKED = ("carat", "default", "dial", "greedy", "weir")
TITLE = "Results: tuning Lustre clients"
LEAD = (
    "Written by `./run bench results` (half an hour on two cores from nothing); do not edit. "
    "[results/figures.json](results/figures.json) has more than this page: what the wire carried, where each policy "
    "ended, rewriting in memory, every workload of `c6525-25g`, workloads on which nothing matters by 3 %, why "
    "printed CARAT gets what it gets, row by row, every policy with both models and with and without the guard, and "
    "what each variant of `carat` is worth. "
    "What the policies are: [policies.md](../reference/policies.md); `carat-tuned` and the other variants of `carat` "
    "are files in `benchmarks/ablations`. The papers' claims: [claims.md](claims.md).",
)
#: Sections and columns that only the table has.
NOT_ON_PAGE = (
    "Rewriting in memory (c220g5)",
    "Static workloads (c6525-25g)",
    "Rewriting in memory (c6525-25g)",
    "Printed CARAT, row by row",
    "Both models, guarded and not (c220g5)",
    "What each improvement is worth (c220g5)",
)
#: Sections of which the page has the sentences only.
SAID = ("Stage 2 where budgets bind (c220g5)",)
NO_COLUMNS = (
    "on the wire",
    "wire",
    "ends at",
    "seen",
    *(f"carat-tuned, {model} model, unguarded" for model in ("own", "shipped")),
    "carat, shipped model, unguarded",
)


#: Workloads on which neither a setting nor a policy changes more than this are left out of the page.
LITTLE = 0.03
_RATIO = re.compile(r"\*{0,2}(\d+\.\d\d) \[")


def on_page(section: Section) -> Section | None:
    """What the page shows of a section."""
    if section.title in NOT_ON_PAGE:
        return None
    tables = [] if section.title in SAID else [_brief(table) for table in section.tables]
    return replace(section, tables=tables)


def _brief(table: Table) -> Table:
    shown = without_columns(table, NO_COLUMNS)
    if "workload" not in shown.heading:
        return shown
    return Table(shown.heading, [row for row in shown.rows if _matters(row)])


def _matters(row: Sequence[str]) -> bool:
    """Whether one of a workload's ratios is far from 1."""
    ratios = [float(found[1]) for cell in row if (found := _RATIO.match(cell))]
    return any(abs(ratio - 1.0) > LITTLE for ratio in ratios)


def say(text: str) -> None:
    print(f"results: {text}", file=sys.stderr, flush=True)


def sections(rows: Mapping[Ask, Found]) -> list[Section]:
    """What there is to say of these rows."""
    book = RatioBook(rows)
    return [
        first_page.section(book),
        *chapters.everything(book),
        *explained.sections(book),
    ]


def present_marks(directory: Path) -> dict[str, str]:
    """The marks of the program as it is."""
    marks = Marks(directory)
    return {policy: marks.find(Course(0.0, 0.0, policy=policy)) for policy in MARKED}


def write(rows: Mapping[Ask, Found], commit: str, marks: Mapping[str, str]) -> str:
    """The page and its table; answers with where they are."""
    parts = sections(rows)
    table = PageTable(commit, marks, tables_of(parts))
    return write_page(TABLE, table, TITLE, LEAD, shortened(parts, on_page))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; may be repeated")
    parser.add_argument("--without", action="append", default=[], help="leave out a policy's rows")
    parser.add_argument("--case", action="append", default=[], help="only this case; may be repeated")
    parser.add_argument("--seconds", type=float, default=Extent().seconds)
    parser.add_argument("--seeds", type=int, default=Extent().headline_seeds)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--render", action="store_true", help="the page anew from its table")
    parser.add_argument("--traces", type=Path, default=DOCS.parents[2] / "shared" / "data" / "lustre-traces")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    if chosen.render:
        print(rendered(TABLE, TITLE, LEAD, on_page))
        return
    started = time.monotonic()
    recorded = tuple(replays.cases(chosen.traces)) if chosen.traces.is_dir() else ()
    extent = Extent(
        chosen.seconds,
        chosen.seeds,
        min(chosen.seeds, Extent().other_seeds),
        tuple(chosen.part or PARTS),
        tuple(chosen.without),
        tuple(chosen.case),
        recorded,
    )
    cache = default_directory()
    commit = commit_here()
    with Lab(Store(cache), chosen.workers) as lab:
        rows = Evidence(lab, cache / "models", say, chosen.traces).measure(asked(extent))
    say(f"{len(rows)} rows after {time.monotonic() - started:.0f} s")
    if extent == Extent(recorded=recorded) and recorded:
        print(write(rows, commit, present_marks(cache)))
    else:
        print(markdown(TITLE, LEAD, sections(rows)))


if __name__ == "__main__":
    main()
