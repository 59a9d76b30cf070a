"""CARAT taught what applications got, beside printed CARAT, which is taught what the wire carried.

usage: ./run bench application_label [--cluster NAME]... [--seeds 1] [--quick] [--write]

The 24 static workloads and the authors' 9 lists on both clusters, with models of the cluster they are measured on.
The rule was set before anything was measured: application labels become `carat-tuned` if their geometric mean over
all rows is higher on both clusters, and no row is below .98 of printed CARAT's. Runs of printed CARAT are those of
`./run bench claims`. `--quick` takes runs of 20 s and a quarter of the training for both. `--write` puts the figures
into docs/explanation/learning.md: of both clusters, or of one on which the rule fails.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.evidence.asked import PRINTED, Extent, Runs, rows_of_case
from benchmarks.evidence.asks import DEFAULT, Ask, Found
from benchmarks.evidence.claim_rows import CLUSTERS, LISTS
from benchmarks.evidence.measuring import Evidence
from benchmarks.evidence.paired_ratios import RatioBook, app
from benchmarks.made_part import replace_part

from penstock.evaluate.figures import geomean
from penstock.evaluate.lab import Lab
from penstock.evaluate.ownmodels import RUN_S
from penstock.evaluate.request import OWN
from penstock.evaluate.store import Store, default_directory
from penstock.report.page import Section, Table, markdown
from penstock.workload import NAMES

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "learning.md"
TAUGHT: Runs = ("carat-application", OWN, "off")
LEAST = 0.98
QUICK_S = 20.0
PLACES = (
    *(("static", name) for name in NAMES),
    *(("interference", name) for names in LISTS.values() for name in names),
)
#: Cases by name: the ratios of printed CARAT and of CARAT with application labels to the default.
Pairs = Mapping[str, tuple[float, float]]


def asks(cluster: str, seeds: int, seconds: float) -> list[Ask]:
    """The default, printed CARAT and CARAT with application labels in every case."""
    return [
        ask
        for experiment, case in PLACES
        for ask in rows_of_case(
            (experiment, cluster, case), (DEFAULT, PRINTED, TAUGHT), Extent(seconds), seeds
        )
    ]


def pairs(rows: Mapping[Ask, Found], cluster: str) -> Pairs:
    """Both ratios of every case, geometric means over seeds."""
    book, found = RatioBook(rows), {}
    for experiment, case in PLACES:
        ratios = [book.ratio((experiment, cluster, case), runs, app) for runs in (PRINTED, TAUGHT)]
        known = [ratio.value for ratio in ratios if ratio is not None]
        if len(known) == len(ratios):
            found[case] = (known[0], known[1])
    return found


def better(found: Pairs) -> bool:
    """Whether application labels bring more in the mean, and no row is below .98 of printed CARAT's."""
    printed, taught = (geomean(each[at] for each in found.values()) for at in (0, 1))
    return taught > printed and all(mine >= LEAST * theirs for theirs, mine in found.values())


def summary(known: Mapping[str, Pairs], how: str) -> Section:
    """A line for each cluster, and the verdict by the rule."""
    lines = []
    for cluster, found in known.items():
        shares = {case: mine / theirs for case, (theirs, mine) in found.items()}
        least = min(shares, key=lambda case: shares[case])
        below = sum(share < LEAST for share in shares.values())
        means = [f"{geomean(each[at] for each in found.values()):.3f}" for at in (0, 1)]
        lines.append([cluster, str(len(found)), *means, str(below), f"{shares[least]:.2f} (`{least}`)"])
    lost = [cluster for cluster, found in known.items() if not better(found)]
    if not lost and len(known) < len(CLUSTERS):
        text = f"The rule needs both clusters ({how})."
    elif lost and len(known) < len(CLUSTERS):
        text = f"By the rule application labels do **not** become `carat-tuned`: {lost[0]} alone decides ({how})."
    else:
        text = f"By the rule application labels {'do **not** become' if lost else 'become'} `carat-tuned` ({how})."
    heading = ["cluster", "rows", "wire labels", "application labels", f"rows below {LEAST}", "worst row"]
    return Section("Application labels", (text,), (), [Table(heading, lines)])


def by_case(cluster: str, found: Pairs) -> Section:
    """Every row of a cluster."""
    lines = [[case, *(f"{each:.2f}" for each in ratios)] for case, ratios in found.items()]
    return Section(cluster, (), (), [Table(["case", "wire labels", "application labels"], lines)])


def write(part: Section, page: Path = PAGE) -> None:
    """The summary, without its heading, between the page's marks."""
    body = markdown("", (), [part]).partition(f"## {part.title}\n")[2]
    replace_part(page, "application-label", body)


def say(text: str) -> None:
    print(f"application_label: {text}", file=sys.stderr, flush=True)


def options(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cluster", action="append", choices=CLUSTERS, help="only this one")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="short runs, a quarter of the training")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cache-dir", type=Path, default=default_directory())
    parser.add_argument("--write", action="store_true", help="put the summary into learning.md")
    return parser.parse_args(words)


def main() -> None:
    chosen = options()
    seconds, train_s = (QUICK_S, RUN_S / 4) if chosen.quick else (Extent().seconds, RUN_S)
    known = {}
    with Lab(Store(chosen.cache_dir), chosen.workers) as lab:
        evidence = Evidence(lab, chosen.cache_dir / "models", say, train_s=train_s)
        for cluster in chosen.cluster or CLUSTERS:
            known[cluster] = pairs(evidence.measure(asks(cluster, chosen.seeds, seconds)), cluster)
    count = f"{chosen.seeds} seeds" if chosen.seeds > 1 else "one seed"
    part = summary(known, f"{count}, runs of {seconds:g} s, {2 * train_s:g} samples from each training run")
    print(markdown("Application labels", (), [part, *(by_case(*one) for one in known.items())]))
    decided = tuple(known) == CLUSTERS or not all(map(better, known.values()))
    if chosen.write and decided:
        write(part)
        say(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
