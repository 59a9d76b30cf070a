"""The sections of docs/explanation/results.md. The text is fixed; every figure comes from rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.evidence import replays
from benchmarks.evidence.asked import (
    FOUR,
    HEADLINE,
    HERE,
    PAPERS,
    REPLAYED,
    STAGES,
    USERS,
    VARIANTS,
    Runs,
)
from benchmarks.evidence.asks import BEST, DEFAULT, SINGLE, policy_of
from benchmarks.evidence.cases import REWRITING, REWRITTEN
from benchmarks.evidence.paired_ratios import RatioBook, app, phases, wire

from penstock.evaluate import budgets, dynamic
from penstock.evaluate.figures import geomean
from penstock.evaluate.request import OWN
from penstock.evaluate.seed_ratios import Ratio
from penstock.evaluate.seen import seen
from penstock.report.page import Section, Table

DEFAULTS: Runs = (DEFAULT, "", "")
CEILING: Runs = (BEST, "", "")


def named(runs: Runs) -> str:
    """The policy with its model and guard, such as `carat, own model, unguarded`."""
    policy, model, guard = runs
    words = [policy, f"{model} model" if model else "", {"on": "guarded", "off": "unguarded"}.get(guard, "")]
    return ", ".join(filter(None, words))


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


def static(book: RatioBook, cluster: str) -> Iterator[Section]:
    """Every workload under the policies of the headline, then rewriting in memory separately."""
    counted, apart = groups(book, cluster)
    who = [runs for runs in HEADLINE if book.cases("static", cluster, runs)]
    text = [
        f"Ratios to the default of the same seed, with 95 % intervals over seeds; bold where the whole interval is "
        f"above 1. The ceiling is the best of 99 static settings, chosen on another seed. Rewriting in memory "
        f"({', '.join(apart) or 'no workload'}) is a group of its own and not part of any summary.",
    ]
    summary = [[named(runs), *_summed(book, cluster, counted, runs)] for runs in who]
    heading = ["who", "geometric mean", "worst workload", "gains", "losses", "head-room captured"]
    tables = [Table(heading, summary)] if counted else []
    tables += [_cases(book, cluster, counted, who)] if counted else []
    yield Section(f"Static workloads ({cluster})", text, (), tables)
    if apart:
        words = (
            "Applications get more here than the wire carries, because pages are written again before they are sent. "
            "That is a gain of memory, not of the file system.",
        )
        tables = [_cases(book, cluster, apart, who), *_sizes(book, cluster)]
        yield Section(f"Rewriting in memory ({cluster})", words, (), tables)


def _sizes(book: RatioBook, cluster: str) -> Iterator[Table]:
    """What is left of such a gain with larger files."""
    work, sizes = REWRITTEN
    held: Runs = (f"own:{work}", "", "")
    rows = []
    for size in sizes:
        place = (REWRITING, cluster, f"{work}-{size}GiB")
        if book.found(*place, held):
            rows.append([f"{size} GiB", *(shown(book.ratio(place, held, rate)) for rate in (app, wire))])
    if rows:
        yield Table([f"{work} at its ceiling's setting, file of each stream", "applications", "wire"], rows)


def _summed(book: RatioBook, cluster: str, cases: Sequence[str], runs: Runs) -> list[str]:
    whole = book.overall("static", cluster, cases, runs)
    each = {case: book.ratio(("static", cluster, case), runs, app) for case in cases}
    known = {case: ratio for case, ratio in each.items() if ratio is not None}
    worst = min(known, key=lambda case: known[case].value, default=None)
    gains, losses = (sum(getattr(r, way) for r in known.values()) for way in ("gains", "loses"))
    return [
        shown(whole),
        "—" if worst is None else f"{known[worst]} {worst}",
        str(gains),
        str(losses),
        _headroom(book, cluster, cases, runs),
    ]


def _headroom(book: RatioBook, cluster: str, cases: Sequence[str], runs: Runs) -> str:
    found = []
    for case in cases:
        mine, best = (book.ratio(("static", cluster, case), each, app) for each in (runs, CEILING))
        if mine is not None and best is not None and best.value >= 1.2:
            found.append((mine.value - 1) / (best.value - 1))
    return f"{sum(found) / len(found):.2f} of {len(found)} workloads" if found else "—"


def _cases(book: RatioBook, cluster: str, cases: Sequence[str], who: Sequence[Runs]) -> Table:
    heading = ["workload", "default MB/s", "on the wire", "ceiling", "at"]
    for runs in who:
        heading += [named(runs), "wire", "ends at", "seen"]
    rows = []
    for case in cases:
        place = ("static", cluster, case)
        base = list(book.found(*place, DEFAULTS).values())
        row = [case, f"{base[0].app:.1f}", f"{base[0].wire:.1f}", shown(book.ratio(place, CEILING, app))]
        row.append(_where(book, place, CEILING))
        for runs in who:
            carried = book.ratio(place, runs, wire)
            row += [shown(book.ratio(place, runs, app)), "—" if carried is None else f"{carried.value:.2f}"]
            row += [_where(book, place, runs), seen((policy_of(runs[0]), *runs[1:]), cluster, case)]
        rows.append(row)
    return Table(heading, rows)


def _where(book: RatioBook, place: tuple[str, str, str], runs: Runs) -> str:
    """The setting that was held, or that a policy ended at, on the first seed."""
    found = book.found(*place, runs).get(0)
    return " × ".join(map(str, found.setting)) if found is not None and found.setting else "—"


def replay(book: RatioBook) -> Iterator[Section]:
    """Policies over the recorded rows of real clients."""
    usual: Runs = (DEFAULT, "", "")
    cases = book.cases(replays.EXPERIMENT, replays.TRACES, usual)
    who = [runs for runs in REPLAYED if book.cases(replays.EXPERIMENT, replays.TRACES, runs)]
    if not cases or not who:
        return
    rows = []
    for case in cases:
        place = (replays.EXPERIMENT, replays.TRACES, case)
        row = [case, f"{book.found(*place, usual)[0].app:.0f}", _replayed(book, place, CEILING)]
        rows.append([*row, *(_replayed(book, place, runs) for runs in who)])
    means = [book.overall(replays.EXPERIMENT, replays.TRACES, cases, runs) for runs in who]
    rows.append(["geometric mean", "", "", *(shown(each) for each in means)])
    text = (
        "A closed loop over the recorded half-seconds of real Lustre clients: each step is worth what the setting in "
        "force brought there on average; behind it, where the policy stayed in the second half. The shipped models "
        "were fitted to these very rows; `own` ones have seen the simulator only. Most of the best settings' gain on "
        "random writes of 1 MB is the luck of choosing among 99.",
    )
    heading = ["workload", "default MB/s", "best recorded", *(named(runs) for runs in who)]
    yield Section("Replay on real traces", text, (), [Table(heading, rows)])


def _replayed(book: RatioBook, place: tuple[str, str, str], runs: Runs) -> str:
    return f"{shown(book.ratio(place, runs, app))} at {_where(book, place, runs)}"


def four(book: RatioBook) -> Iterator[Section]:
    """Every learned policy with both models, guarded and not."""
    counted, _ = groups(book, HERE)
    rows = []
    for runs in FOUR:
        whole = book.overall("static", HERE, counted, runs)
        if whole is None:
            continue
        each = [r for case in counted if (r := book.ratio(("static", HERE, case), runs, app)) is not None]
        gets = "**what a user gets**" if runs == USERS else ""
        rows.append([runs[0], runs[1], runs[2], str(whole), f"{min(r.value for r in each):.2f}", gets])
    if rows:
        text = (
            "The same workloads, rewriting left out. `own`: trained on this cluster, on seeds that nobody is judged "
            "on; `shipped`: what comes with the package, which for forests is mostly real traces. The agent always "
            "runs its guard; the papers' algorithms were published without one. First seed only unless an interval "
            "is shown.",
        )
        table = Table(["policy", "model", "guard", "geometric mean", "worst", ""], rows)
        yield Section("Both models, guarded and not (c220g5)", text, (), [table])


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
            "`carat` is as printed; each of the others changes one thing, and `carat-tuned` is the best combination. "
            "All ask a model of this cluster trained on other seeds, and run without a guard. `greedy` ranks by "
            "probability alone, over the model that `carat-full` and `carat-tuned` ask.",
        )
        heading = ["policy", "geometric mean", "worst", "s_rd_rn_1m", "rewriting in memory"]
        yield Section("What each improvement is worth (c220g5)", text, (), [Table(heading, rows)])


def sequences(book: RatioBook) -> Iterator[Section]:
    """Workloads that follow each other: by total, and by the geometric mean over phases."""
    rows = []
    for case, works in dynamic.SEQUENCES.items():
        place = ("dynamic", HERE, case)
        for runs in ((SINGLE, "", ""), *HEADLINE):
            if book.found(*place, runs):
                total, by_phase = (shown(book.ratio(place, runs, rate)) for rate in (app, phases))
                rows.append([case, named(runs), total, by_phase])
        best = _phase_optimum(book, case, works)
        if best is not None:
            rows.append([case, "each phase's own optimum (ceiling)", "—", f"{best:.2f}"])
    if rows:
        text = (
            "Four workloads after each other, in sequences of ours (`penstock evaluate dynamic --list read --list "
            "write --list mixed`). One phase that is much faster than the others decides the total: the geometric "
            "mean over phases is what to judge by.",
        )
        table = Table(["sequence", "who", "total", "geometric mean over phases"], rows)
        yield Section("Dynamic workloads (c220g5)", text, (), [table])


def _phase_optimum(book: RatioBook, case: str, works: Sequence[str]) -> float | None:
    base = book.found("dynamic", HERE, case, DEFAULTS).get(0)
    own = [book.found("dynamic", HERE, case, (f"own:{work}", "", "")).get(0) for work in works]
    if base is None or any(each is None for each in own):
        return None
    return geomean(each.phases[i] / base.phases[i] for i, each in enumerate(own) if each is not None)


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
    def of_best(self) -> float:
        """The share of the best split's gain over equal shares."""
        most = self.over_equal(self.best) - 1
        return (self.over_equal(self.fitted) - 1) / most if most > 0 else 1.0

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
        f"{min(found.reachable, default=0.0):.2f} of it; elsewhere no split can. As printed, "
        f"{found.over_equal(found.printed):.2f} times equal shares, over the budget.",
    ]
    yield Section("Stage 2 where budgets bind (c220g5)", text, (), [Table(heading, rows)])


def everything(book: RatioBook) -> list[Section]:
    """All sections that there are rows for, in their order."""
    found: list[Section] = []
    if book.cases("static", HERE, DEFAULTS):
        found += [*static(book, HERE), *four(book), *variants(book)]
    found += [*replay(book), *sequences(book), *stage_two(book)]
    if book.cases("static", PAPERS, DEFAULTS):
        found += static(book, PAPERS)
    return found
