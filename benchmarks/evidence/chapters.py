"""The sections of docs/explanation/results.md. The text is fixed; every figure comes from rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.evidence.asked import (
    HERE,
    STAGES,
    VARIANTS,
    Runs,
)
from benchmarks.evidence.asks import BEST, DEFAULT
from benchmarks.evidence.paired_ratios import RatioBook, app

from penstock.evaluate import budgets
from penstock.evaluate.figures import geomean
from penstock.evaluate.request import OWN
from penstock.evaluate.seed_ratios import Ratio
from penstock.report.page import Section, Table

DEFAULTS: Runs = (DEFAULT, "", "")
CEILING: Runs = (BEST, "", "")


def shown(ratio: Ratio | None) -> str:
    """A ratio with its interval. A significant gain is bold."""
    if ratio is None:
        return "—"
    return f"**{ratio}**" if ratio.gains else str(ratio)


def groups(book: RatioBook, cluster: str) -> tuple[list[str], list[str]]:
    """The static cases of the headline, and those in which data is rewritten in memory."""
    cases = book.cases("static", cluster, DEFAULTS)
    apart = [case for case in cases if book.rewrites("static", cluster, case)]
    return [case for case in cases if case not in apart], apart


def variants(book: RatioBook) -> Iterator[Section]:
    """What each improvement of CARAT is worth."""
    counted, apart = groups(book, HERE)
    rows = []
    for policy in VARIANTS:
        runs = (policy, OWN, "off")
        whole = book.overall("static", HERE, counted, runs)
        if whole is None:
            continue
        each = [r for case in counted if (r := book.ratio(("static", HERE, case), runs, app)) is not None]
        reads = book.ratio(("static", HERE, "s_rd_rn_1m"), runs, app)
        memory = book.overall("static", HERE, apart, runs) if apart else None
        rows.append([policy, shown(whole), f"{min(r.value for r in each):.2f}", shown(reads), shown(memory)])
    if rows:
        text = (
            "Ratios to the default over the static workloads. `carat` is as printed; each of the others changes one "
            "thing, and `carat-tuned` is the best combination; 1.85 was aimed at for it on `s_rd_rn_1m`. "
            "All ask a model of this cluster trained on other seeds, and run without a guard. `greedy` ranks by "
            "probability alone, over the model that `carat-full` and `carat-tuned` ask.",
        )
        heading = ["policy", "geometric mean", "worst", "s_rd_rn_1m", "rewriting in memory"]
        yield Section("What each improvement is worth (c220g5)", text, (), [Table(heading, rows)])


@dataclass(frozen=True, slots=True)
class StageTwo:
    """Ratios to the default, case by case, and what follows from them."""

    cases: tuple[str, ...]
    equal: tuple[Ratio, ...]
    best: tuple[Ratio, ...]
    printed: tuple[Ratio, ...]
    fitted: tuple[Ratio, ...]

    def over_equal(self, who: Sequence[Ratio]) -> float:
        """The geometric mean over equal shares."""
        return geomean(one.value / equal.value for one, equal in zip(who, self.equal, strict=True))

    @property
    def reachable(self) -> list[float]:
        """What stage 2 gets of the default where a split within the budget reaches .95 of it."""
        return [f.value for f, b in zip(self.fitted, self.best, strict=True) if b.value >= 0.95]


def measured_stage_two(book: RatioBook) -> StageTwo | None:
    """The cases that were measured in full; None if there are none."""
    who: list[Runs] = [("equal", "", ""), ("best-split", "", ""), *((s, "", "off") for s in STAGES)]
    names, found = [], []
    for name in budgets.NAMES:
        case = name.removeprefix("budget-")
        ratios = [book.ratio(("budgets", HERE, case), runs, app) for runs in who]
        known = [ratio for ratio in ratios if ratio is not None]
        if len(known) == len(who):
            names.append(case)
            found.append(known)
    if not found:
        return None
    equal, best, printed, fitted = (tuple(column) for column in zip(*found, strict=True))
    return StageTwo(tuple(names), equal, best, printed, fitted)


def stage_two(book: RatioBook) -> Iterator[Section]:
    """The cache's budget where it binds."""
    found = measured_stage_two(book)
    if found is None:
        return
    heading = [
        "case, share of memory",
        "equal shares",
        "best split",
        "Algorithm 2 as printed",
        "inside the budget",
    ]
    columns = (found.equal, found.best, found.printed, found.fitted)
    rows = [
        [case, *(shown(each) for each in ratios)] for case, *ratios in zip(found.cases, *columns, strict=True)
    ]
    text = [
        "A node with 16 targets that may hold 1 to 8 % of its memory unwritten; ratios to the default of 2000 MB a "
        "target, which keeps no budget. Everything else starts from equal shares. The RPC knobs keep their default.",
        f"Inside the budget, stage 2 gets {found.over_equal(found.fitted):.2f} times equal shares over all cases; "
        f"the best split found by search gets {found.over_equal(found.best):.2f}. Where a split within the budget "
        f"reaches .95 of the default ({len(found.reachable)} of {len(rows)} cases), the worst is "
        f"{min(found.reachable, default=0.0):.2f} of it; elsewhere no split can, and the worst case is "
        f"{min(ratio.value for ratio in found.fitted):.2f} of the default (aimed at: .95). As printed, "
        f"{found.over_equal(found.printed):.2f} times equal shares, over the budget.",
    ]
    yield Section("Stage 2 where budgets bind (c220g5)", text, (), [Table(heading, rows)])


def everything(book: RatioBook) -> list[Section]:
    """All sections that there are rows for, in their order."""
    return [*variants(book), *stage_two(book)]
