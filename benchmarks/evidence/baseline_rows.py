"""Rows of the baseline: five policies against the default, section by section. Claims ask for the same runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from benchmarks.evidence.asked import PRINTED, USERS, Extent, Runs, rows_of_case
from benchmarks.evidence.asks import DEFAULT, Ask, Found
from benchmarks.evidence.claim_rows import AUTHORS, CLUSTERS, DEAR, DIAL, LISTS, PAIR, SEQUENCES
from benchmarks.evidence.paired_ratios import app

from penstock.evaluate import applications
from penstock.evaluate.authors_lists import AUTHORS_SEQUENCES
from penstock.evaluate.comparison import ratio
from penstock.evaluate.figures import geomean
from penstock.evaluate.request import OWN
from penstock.report.page import Section, Table
from penstock.workload import NAMES

POLICIES: Mapping[str, Runs] = {
    "weir": USERS,
    "carat": PRINTED,
    "carat-authors": AUTHORS,
    "dial": DIAL,
    "greedy": ("greedy", OWN, "off"),
}
#: The experiment of a set, and its cases.
SETS: Mapping[str, tuple[str, Sequence[str]]] = {
    "static": ("static", NAMES),
    "sequences": ("dynamic", SEQUENCES),
    "lists": ("interference", tuple(name for names in LISTS.values() for name in names)),
    "applications": ("applications", applications.NAMES),
    "table-v": ("independent", (PAIR, f"{PAIR}-one-server")),
}
WORLDS = "worlds"
SECTIONS = (*(f"{name}@{cluster}" for name in SETS for cluster in CLUSTERS), WORLDS)
#: Ratios to the default, by case and policy.
Ratios = Mapping[str, Mapping[str, float]]


def asks(section: str, seconds: float, *, quick: bool) -> list[Ask]:
    """The runs of a section other than the random worlds: one seed; quick leaves out sequences slow to simulate."""
    name, _, cluster = section.partition("@")
    experiment, cases = SETS[name]
    who: tuple[Runs | str, ...] = (DEFAULT, *POLICIES.values())
    return [
        ask
        for case in cases
        if not (quick and case in DEAR)
        for ask in rows_of_case((experiment, cluster, case), who, Extent(seconds), 1)
    ]


def ratios(rows: Mapping[Ask, Found]) -> Ratios:
    """What these runs brought against the default: of sequences by phase, of Table V by process."""
    found = {(ask.experiment, ask.case, ask.label): each for ask, each in rows.items()}
    return {
        label: {
            policy: ratio(rate(found[experiment, case, policy]), rate(found[experiment, case, DEFAULT]))
            for policy in POLICIES
        }
        for experiment, case in dict.fromkeys((ask.experiment, ask.case) for ask in rows)
        for label, rate in _parts(experiment, case)
    }


def _parts(experiment: str, case: str) -> Iterator[tuple[str, Callable[[Found], float]]]:
    if experiment == "dynamic":
        for at, work in enumerate(AUTHORS_SEQUENCES[case]):
            yield f"{case}, {at + 1}: {work}", lambda found, at=at: found.phases[at]  # type: ignore[misc]
    elif experiment == "independent":
        yield f"{case}, writer", lambda found: found.write
        yield f"{case}, reader", lambda found: found.read
    else:
        yield case, app


def section_of(title: str, found: Ratios) -> Section:
    """One line a case."""
    lines = [[case, *(f"{each[policy]:.2f}" for policy in POLICIES)] for case, each in found.items()]
    return Section(title, (), (), [Table(["case", *POLICIES], lines)])


def summary(measured: Mapping[str, Section]) -> Section:
    """Every section: the geometric mean of its cases and the worst, or that it was not measured."""
    lines, missing = [], [f"`{name}`" for name in SECTIONS if name not in measured]
    for name in SECTIONS:
        cells = ["not measured", *("-" for _ in POLICIES)]
        if name in measured:
            (table,) = measured[name].tables
            columns = [[float(row[at]) for row in table.rows] for at in range(1, 1 + len(POLICIES))]
            cells = [str(len(table.rows)), *(f"{geomean(each):.2f} ({min(each):.2f})" for each in columns)]
        lines.append([name, *cells])
    text = f"Measured: {len(SECTIONS) - len(missing)} of {len(SECTIONS)} sections."
    text += f" Not measured: {', '.join(missing)}." if missing else ""
    return Section(
        "Summary",
        (text,),
        (),
        [Table(["section", "cases", *(f"{each}, mean (worst)" for each in POLICIES)], lines)],
    )
