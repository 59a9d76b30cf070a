"""The papers' claims: what they say, what their algorithm does here, and what the evaluated policy does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.evaluate import paper
from penstock.evaluate.dynamic import FAST
from penstock.evaluate.figures import geomean
from penstock.evaluate.rows import (
    ApplicationsDocument,
    BothRates,
    DynamicDocument,
    IndependentDocument,
    InterferenceDocument,
    StaticDocument,
)
from penstock.report.page import Section, Table

CARAT = "carat"
# Table VI is about so many.
CLIENTS = 5


def section(policy: str, rows: Sequence[Sequence[str]]) -> Section:
    """All claims that could be checked, as a table."""
    text = (
        "Figures are ratios to the default unless said otherwise. Reproduced judges `carat`, the printed algorithm "
        "with our model, in simulation: **yes** where it reaches at least nine tenths of the paper's figure, or more "
        "than it (eight tenths of what is said to be up to so much); **no** means that this simulator does not show "
        "what the real testbed showed, or that the printed algorithm needs something that is not printed.",
    )
    heading = ["claim", "paper", "carat here", f"{policy} here", "reproduced"]
    return Section("Where this matches the papers, and where not", text, (), [Table(heading, rows)])


def _claim(words: str, said: str, theirs: float, ours: float, holds: bool) -> list[str]:
    return [words, said, f"{theirs:.2f}", f"{ours:.2f}", "yes" if holds else "**no**"]


def static(document: StaticDocument) -> Iterator[list[str]]:
    """The worst workload and the largest gain."""
    default = {row["workload"]: row["default_mbps"] for row in document["rows"]}

    def ratios(policy: str) -> list[float]:
        return [mbps / default[name] for name, mbps in document["policies"][policy]["mbps"].items()]

    theirs, ours = ratios(CARAT), ratios(document["policy"])
    worst, most = paper.STATIC_WORST, paper.STATIC_BEST
    yield _claim(
        "static: no workload far below the default",
        f">= {worst:g}",
        min(theirs),
        min(ours),
        min(theirs) >= worst,
    )
    yield _claim(
        "static: the largest gain", f"up to {most:g}", max(theirs), max(ours), max(theirs) >= 0.8 * most
    )


def dynamic(document: DynamicDocument) -> Iterator[list[str]]:
    """The largest gain in a phase."""

    rows = [row for row in document["rows"] if row["list"] not in FAST]
    if not rows:
        return

    def most(policy: str) -> float:
        return max(row["policies"][policy] / row["default_mbps"] for row in rows)

    theirs, ours = most(CARAT), most(document["policy"])
    goal = paper.DYNAMIC_BEST
    yield _claim(
        "dynamic: the largest gain in a phase", f"up to {goal:g}", theirs, ours, theirs >= 0.8 * goal
    )


def independent(document: IndependentDocument) -> Iterator[list[str]]:
    """Table V."""
    for row in document["rows"]:
        if not row["workload"].startswith("table-v"):
            continue
        base, theirs, ours = (_both(row["mbps"][policy]) for policy in ("default", CARAT, document["policy"]))
        said = _ratios_of(*paper.TABLE_V["carat"])
        for number, process in enumerate(("writer", "reader")):
            reached = theirs[number] / base[number]
            yield _claim(
                f"independent tuning, {row['workload']}: the {process}",
                f"{said[number]:.2f}",
                reached,
                ours[number] / base[number],
                reached >= 0.9 * said[number],
            )


def _both(rates: BothRates) -> tuple[float, float]:
    return rates["write_mbps"], rates["read_mbps"]


def _ratios_of(write: float, read: float) -> tuple[float, float]:
    base = paper.TABLE_V["default"]
    return write / base[0], read / base[1]


def interference(document: InterferenceDocument) -> Iterator[list[str]]:
    """Table VI, each kind by the geometric mean over its lists."""
    for kind, (base, tuned) in paper.TABLE_VI.items():
        of_kind = [one for one in document["lists"] if one["kind"] == kind and one["clients"] == CLIENTS]
        if not of_kind:
            continue
        theirs, ours = (
            geomean(one["policies"][policy]["mbps"] / one["default_mbps"] for one in of_kind)
            for policy in (CARAT, document["policy"])
        )
        words = f"interference, Table VI: {kind} ({len(of_kind)} lists)"
        yield _claim(words, f"{tuned / base:.2f}", theirs, ours, theirs >= 0.9 * tuned / base)


def applications(document: ApplicationsDocument) -> Iterator[list[str]]:
    """Fig. 8, Table VII, DIAL's Table II."""
    rows = {row["workload"]: row for row in document["rows"]}
    learning = [row for name, row in rows.items() if name.startswith("dlio")]
    both = (CARAT, document["policy"])
    if learning:
        theirs, ours = (max(row["policies"][p] / row["default_mbps"] for row in learning) for p in both)
        most = paper.LEARNING_BEST
        yield _claim(
            "deep learning, Fig. 8: the largest gain", f"up to {most}", theirs, ours, theirs >= 0.8 * most
        )
    for name, (base, tuned) in paper.TABLE_VII.items():
        if name in rows:
            theirs, ours = (rows[name]["policies"][p] / rows[name]["default_mbps"] for p in both)
            yield _claim(
                f"Table VII: {name}", f"{tuned / base:.2f}", theirs, ours, theirs >= 0.9 * tuned / base
            )
    kernels = [row for name, row in rows.items() if name in paper.DIAL_II]
    if kernels:
        theirs, ours = (min(row["policies"][p] / row["best_static_mbps"] for row in kernels) for p in both)
        least = min(tuned / best for best, tuned in paper.DIAL_II.values())
        words = "DIAL's Table II: the worst kernel against its optimum"
        yield _claim(words, f"{least:.2f}", theirs, ours, theirs >= least - 0.02)
