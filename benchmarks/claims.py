"""Writes docs/explanation/claims.md: the papers' claims one by one, and what this program shows of each.

usage: ./run bench claims [--offline] [--quick] [--seconds 60] [--seeds 5] [--write]
       ./run bench claims --render    the page anew from its table; nothing is measured

Claims about tuning need some 1,700 simulated runs, which are kept in the user's cache by the mark of what drives them
(CONTRIBUTING.md): an interrupted run goes on where it stopped. `--quick` takes one seed, runs of 20 s and leaves out
the three sequences that are slow to simulate; its page is printed, not written. `--offline` measures nothing: claims
about tuning stay as the page has them. One seed has no interval, so under `--quick` a gain that is near is
`undecided`. Write time, collective writes, models and overhead have figures beside their own pages, which the page
names the commands for.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.evidence import claims, offline_claims
from benchmarks.evidence.asked import Extent
from benchmarks.evidence.asks import Ask, Found
from benchmarks.evidence.claim_rows import CLUSTERS, claim_asks
from benchmarks.evidence.measuring import Evidence
from benchmarks.evidence.page_table import (
    PageTable,
    commit_here,
    read_table,
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
TABLE = DOCS / "claims" / "figures.json"
TITLE = "The papers' claims"
LEAD = (
    "Written by `./run bench claims --write`; do not edit. [claims/figures.json](claims/figures.json) also lists the "
    "claims that were not measured since. Scheduling has its own page: "
    "[results-scheduling.md](results-scheduling.md).",
    "Every claim has a fixed id, and one policy or method judges it that was named beforehand: for CARAT's figures "
    "`carat-authors`, CARAT as its authors' public code behaves; for DIAL's `dial`; for the others the paper's own "
    "method. Verdicts are computed. **Reproduced** is nine tenths of the paper's figure (eight tenths of an `up "
    "to`), and for a gain a 95 % interval over seeds that lies above 1 as a whole; for counts, that the paper's lies "
    "within the extremes of our draws; for a worst workload, an order or a cost the paper's limit itself (orders by "
    "a hundredth, `unchanged` within two); for an error at most the paper's over .9; for DIAL's share of the best "
    "setting .98 of the paper's. **Calibrated** figures were given and prove nothing. **Not measured since** "
    "means that no figure of the present program is at hand; `./run bench claims` measures it.",
)
TUNING = (
    "Simulated; ratios to the default. Printed `carat` and the shipped policy `weir` stand beside the policy that "
    "judges. The ceiling is the best single setting (for sequences, each phase's own). DIAL's Table II is of the "
    "best static setting. Of Table V's two processes on one server a real client's reader gains 1.1 at most."
)
OPEN = f"What would settle those that are open: {claims.SETTLE}; and what the last column adds."
#: Whose behaviour the figures about tuning stand on.
MARKED = ("carat", "carat-authors", "default", "dial", "weir")
QUICK = Extent(20.0, 1, 1)
#: Of everything but the static workloads, at most: with two, an interval is three times as wide.
OTHER_SEEDS = 3
SETTLING = "what would settle it"


def on_page(section: Section) -> Section | None:
    """The claims of a section that were measured, without what its text says of all open ones alike."""
    (table,) = section.tables
    if "verdict" not in table.heading:
        return section
    at = list(table.heading).index("verdict")
    rows = [row for row in table.rows if row[at] != claims.UNMEASURED]
    brief = Table(table.heading, rows)
    if all(any(way in said for said in section.text) for way in ways(rows)):
        brief = without_columns(brief, (SETTLING,))
    return replace(section, tables=[brief]) if rows else None


def ways(rows: Sequence[Sequence[str]]) -> list[str]:
    """What would settle the open ones of these rows, each way once."""
    return list(dict.fromkeys(row[-1] for row in rows if row[-1]))


def tuning_sections(rows: Mapping[Ask, Found]) -> list[Section]:
    """The claims about tuning that these rows decide; all others are not measured."""
    known = claims.claims(RatioBook(rows))
    lines = {at: [claims.row(one) for one in known if one.cluster == at] for at in CLUSTERS}
    return _tuning({at: [list(claims.HEADING), *each] for at, each in lines.items()})


def kept_sections(table: PageTable) -> list[Section]:
    """The claims about tuning as the page's table has them."""
    return _tuning({at: table.tables[f"Tuning ({at})"][0] for at in CLUSTERS})


def _tuning(tables: Mapping[str, Sequence[Sequence[str]]]) -> list[Section]:
    return [
        Section(
            f"Tuning ({at})",
            (TUNING, OPEN) if at == CLUSTERS[0] else (),
            (),
            [Table(tables[at][0], tables[at][1:])],
        )
        for at in CLUSTERS
    ]


def sections(tuning: Sequence[Section], sources: Mapping[str, Any]) -> list[Section]:
    """The summary, then the claims."""
    parts = list(tuning)
    for title, some in offline_claims.offline_claims(sources).items():
        lines = [offline_claims.row(one) for one in some]
        text = [offline_claims.MEASURED_ON[title]]
        text += [
            f"What would settle those that are open: {way}." for way in ways(lines) if len(ways(lines)) == 1
        ]
        parts.append(Section(title, text, (), [Table(list(offline_claims.HEADING), lines)]))
    return [summary(parts), *parts]


def summary(parts: Sequence[Section]) -> Section:
    """How many claims have which verdict, counted in the tables below."""
    verdicts = [claims.REPRODUCED, claims.MISSED, offline_claims.CALIBRATED, claims.UNMEASURED]
    if any(claims.UNDECIDED in row for part in parts for row in part.tables[0].rows):
        verdicts.insert(2, claims.UNDECIDED)
    lines, text = [], []
    for part in parts:
        (table,) = part.tables
        at = list(table.heading).index("verdict")
        found = Counter(row[at] for row in table.rows)
        lines.append([part.title, str(len(table.rows)), *(str(found[verdict]) for verdict in verdicts)])
        missed = [row for row in table.rows if row[at] == claims.MISSED]
        if missed:
            ours = list(table.heading).index("ours")
            each = "; ".join(f"`{row[0]}` ({row[ours]}, paper {row[2]})" for row in missed)
            text.append(f"{part.title}: {len(missed)} of {len(table.rows)} not reproduced: {each}.")
    heading = ["claims", "all", *(verdict.strip("*") for verdict in verdicts)]
    return Section("In five minutes", text, (), [Table(heading, lines)])


def say(text: str) -> None:
    print(f"claims: {text}", file=sys.stderr, flush=True)


def measured(extent: Extent, workers: int, *, quick: bool) -> dict[Ask, Found]:
    """All rows about tuning."""
    cache = default_directory()
    started = time.monotonic()
    with Lab(Store(cache), workers) as lab:
        rows = Evidence(lab, cache / "models", say).measure(claim_asks(extent, quick=quick))
    say(f"{len(rows)} rows after {time.monotonic() - started:.0f} s")
    return rows


def present_marks() -> dict[str, str]:
    """The marks of the program as it is."""
    marks = Marks(default_directory())
    return {policy: marks.find(Course(0.0, 0.0, policy=policy)) for policy in MARKED}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--offline", action="store_true", help="measure no row about tuning")
    parser.add_argument("--quick", action="store_true", help="one seed and short runs; the page is printed")
    parser.add_argument("--seconds", type=float, default=Extent().seconds)
    parser.add_argument("--seeds", type=int, default=Extent().headline_seeds, help="of the static workloads")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", action="store_true", help="write the page, of runs of the usual length")
    parser.add_argument("--render", action="store_true", help="the page anew from its table")
    given = parser.parse_args()
    if given.render:
        print(rendered(TABLE, TITLE, LEAD, on_page))
        return
    commit, before = commit_here(), read_table(TABLE)
    if given.offline:
        marks, tuning = before.marks, kept_sections(before)
        commit = before.commit if marks else commit
    else:
        extent = QUICK if given.quick else Extent(given.seconds, given.seeds, min(given.seeds, OTHER_SEEDS))
        tuning = tuning_sections(measured(extent, given.workers, quick=given.quick))
        marks = present_marks()
    parts = sections(tuning, offline_claims.read_sources())
    if not given.write or given.quick or given.seconds != Extent().seconds:
        print(markdown(TITLE, LEAD, parts))
        return
    table = PageTable(commit, marks, tables_of(parts))
    print(write_page(TABLE, table, TITLE, LEAD, shortened(parts, on_page)))


if __name__ == "__main__":
    main()
