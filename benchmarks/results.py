"""What variants of CARAT are worth, and stage 2 where budgets bind: docs/explanation/results.md.

usage: ./run bench results [--part NAME]... [--without POLICY]... [--case NAME]... [--seconds 60] [--seeds 2]
       ./run bench results --render    the page anew from its table; nothing is measured

Runs are kept in the user's cache by the mark of what drives them (CONTRIBUTING.md), so an interrupted run goes on
where it stopped, and only policies that behave differently are measured again. With less than everything the page is
printed and not written.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.evidence import chapters
from benchmarks.evidence.asked import PARTS, Extent, asked
from benchmarks.evidence.asks import Ask, Found
from benchmarks.evidence.measuring import Evidence
from benchmarks.evidence.page_table import (
    PageTable,
    commit_here,
    rendered,
    shortened,
    tables_of,
    write_page,
)
from benchmarks.evidence.paired_ratios import RatioBook

from penstock.evaluate.drivers import Course
from penstock.evaluate.lab import Lab
from penstock.evaluate.marks import Marks
from penstock.evaluate.store import Store, default_directory
from penstock.report.page import Section, markdown

DOCS = Path(__file__).parent.parent / "docs" / "explanation"
TABLE = DOCS / "results" / "figures.json"
#: Whose behaviour the figures stand on; variants of `carat` count by it. `default` stands for runs without tuning.
MARKED = ("carat", "default", "greedy")
TITLE = "Variants of CARAT, and the cache's budget"
LEAD = (
    "Written by `./run bench results`; do not edit. [results/figures.json](results/figures.json) also has the "
    "budgets case by case.",
    "What is measured elsewhere: the shipped policy against its [goals](goals.md), five policies on all that tuners "
    "are judged by ([baseline](baseline.md)), [the papers' claims](claims.md), and what the simulator alone taught, "
    "over real rows ([fidelity](fidelity.md#what-it-is-worth-to-a-tuner)). What the policies are: "
    "[policies.md](../reference/policies.md); the variants of `carat` are files in `benchmarks/ablations`.",
    "Ratios compare runs of the same seed, with 95 % intervals over seeds, and are bold where the whole interval is "
    "above 1.",
)
#: Sections of which the page has the sentences only.
SAID = ("Stage 2 where budgets bind (c220g5)",)


def on_page(section: Section) -> Section | None:
    """What the page shows of a section."""
    return replace(section, tables=[]) if section.title in SAID else section


def say(text: str) -> None:
    print(f"results: {text}", file=sys.stderr, flush=True)


def sections(rows: Mapping[Ask, Found]) -> list[Section]:
    """What there is to say of these rows."""
    return chapters.everything(RatioBook(rows))


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
    parser.add_argument("--seeds", type=int, default=Extent().other_seeds)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--render", action="store_true", help="the page anew from its table")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    if chosen.render:
        print(rendered(TABLE, TITLE, LEAD, on_page))
        return
    started = time.monotonic()
    extent = Extent(
        chosen.seconds,
        other_seeds=chosen.seeds,
        parts=tuple(chosen.part or PARTS),
        without=tuple(chosen.without),
        cases=tuple(chosen.case),
    )
    cache = default_directory()
    commit = commit_here()
    with Lab(Store(cache), chosen.workers) as lab:
        rows = Evidence(lab, cache / "models", say).measure(asked(extent))
    say(f"{len(rows)} rows after {time.monotonic() - started:.0f} s")
    if extent == Extent():
        print(write(rows, commit, present_marks(cache)))
    else:
        print(markdown(TITLE, LEAD, sections(rows)))


if __name__ == "__main__":
    main()
