"""The first page for a reviewer: what is claimed, on what evidence, and what failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from benchmarks.evidence import replays
from benchmarks.evidence.asked import (
    HEADLINE,
    HERE,
    PAPERS,
    REPLAYED,
    TUNED,
    USERS,
    Runs,
)
from benchmarks.evidence.asks import DEFAULT
from benchmarks.evidence.chapters import groups, measured_stage_two, named
from benchmarks.evidence.paired_ratios import RatioBook, app

from penstock.evaluate.request import OWN
from penstock.evaluate.seed_ratios import Ratio
from penstock.report.page import Section, Table

#: The target of the best combination on random reads of 1 MB.
TUNED_READS = 1.85
#: Of stage 2: the gain over equal shares, or the share of the best split's gain; and the least of the default.
STAGE_TWO, OF_BEST, WORST = 1.05, 0.8, 0.95


def section(book: RatioBook) -> Section:
    """What is claimed, on what evidence, and what failed."""
    text = [*_claimed(book), *_evidence(book), *_failed(book)]
    goals = Table(["goal", "aimed at", "measured", "met"], list(_goals(book)))
    return Section("In five minutes", text, (), [goals])


def _claimed(book: RatioBook) -> Iterator[str]:
    yield (
        "**What is claimed.** In simulation, not on a running Lustre file system, a tuned client gets the following "
        "of what it gets at the default. A gain is claimed only where the 95 % interval of its ratio, over seeds, "
        "lies above 1 as a whole. `weir` is what a user gets."
    )
    for cluster in (HERE, PAPERS):
        counted, _ = groups(book, cluster)
        for runs in HEADLINE:
            each = _each(book, cluster, counted, runs)
            gains = {case: ratio for case, ratio in each if ratio.gains}
            whole = book.overall("static", cluster, counted, runs)
            if whole is None:
                continue
            best = ", ".join(f"{case} {ratio}" for case, ratio in _largest(gains.items()))
            yield (
                f"**{named(runs)}** on {cluster}: {whole} of the default over {len(counted)} static workloads; "
                f"gains claimed on {len(gains)}{f' (the largest: {best})' if best else ''}."
            )


def _evidence(book: RatioBook) -> Iterator[str]:
    yield (
        f"**On what evidence.** {book.rows} runs of a minute each and replays; static workloads on {HERE} with five "
        "seeds, the others with two unless an interval is missing. "
        "Every ratio compares runs of the same seed. "
        f"{HERE} is the cluster that the public traces were recorded on; docs/explanation/fidelity.md says how far "
        f"its simulation can be trusted. {PAPERS} describes the papers' hardware and is not validated. `own` models "
        "were trained on the judged cluster with other seeds, `shipped` ones come with the package. The only "
        "evidence from real clients is replay: a policy walks over recorded half-seconds."
    )
    known = book.cases(replays.EXPERIMENT, replays.TRACES, (DEFAULT, "", ""))
    held_out = [
        f"{named(runs)} {whole}"
        for runs in REPLAYED
        if runs[1] == OWN
        and (whole := book.overall(replays.EXPERIMENT, replays.TRACES, known, runs)) is not None
    ]
    if held_out:
        yield (
            f"Replay over {len(known)} real workloads of policies that know the simulator only, of the default: "
            f"{'; '.join(held_out)}."
        )


def _failed(book: RatioBook) -> Iterator[str]:
    yield "**What failed**, or is no evidence."
    for cluster in (HERE, PAPERS):
        counted, apart = groups(book, cluster)
        for runs in HEADLINE:
            losses = [
                (case, ratio) for case, ratio in _each(book, cluster, counted, runs) if ratio.value < 0.95
            ]
            if losses:
                worst = ", ".join(
                    f"{case} {ratio}" for case, ratio in sorted(losses, key=lambda one: one[1].value)[:4]
                )
                yield f"{named(runs)} on {cluster} loses 5 % or more on {len(losses)} workloads: {worst}."
        if apart:
            yield f"Left out on {cluster}, because memory does the work: {', '.join(apart)}."


def _goals(book: RatioBook) -> Iterator[list[str]]:
    reads = book.ratio(("static", HERE, "s_rd_rn_1m"), TUNED, app)
    yield _goal(f"{named(TUNED)} on s_rd_rn_1m", TUNED_READS, reads)
    for cluster in (HERE, PAPERS):
        counted, _ = groups(book, cluster)
        each = [ratio for _, ratio in _each(book, cluster, counted, USERS)]
        worst = min(each, key=lambda ratio: ratio.value, default=None)
        yield _goal(f"{named(USERS)} on {cluster}: worst static workload", WORST, worst)
        yield _goal(
            f"{named(USERS)} on {cluster}: mean", 1.0, book.overall("static", cluster, counted, USERS)
        )

    found = measured_stage_two(book)
    if found is not None:
        gain, least = found.over_equal(found.fitted), min(ratio.value for ratio in found.fitted)
        met = gain >= STAGE_TWO or found.of_best >= OF_BEST
        measured = f"{gain:.2f}, and {found.of_best:.2f} of the best split's gain"
        yield ["stage 2 over equal shares, inside the budget", f">= {STAGE_TWO}", measured, _verdict(met)]
        reached = min(found.reachable, default=0.0)
        words = f"{least:.2f}; {reached:.2f} where a split within the budget reaches it"
        yield ["stage 2 of the default: worst case", ">= 0.95", words, _verdict(least >= WORST)]


def _verdict(met: bool) -> str:
    return "yes" if met else "**no**"


def _goal(words: str, least: float, ratio: Ratio | None) -> list[str]:
    if ratio is None:
        return [words, f">= {least:g}", "not measured in this run", "—"]
    return [words, f">= {least:g}", str(ratio), _verdict(ratio.value >= least)]


def _each(book: RatioBook, cluster: str, cases: Sequence[str], runs: Runs) -> list[tuple[str, Ratio]]:
    found = [(case, book.ratio(("static", cluster, case), runs, app)) for case in cases]
    return [(case, ratio) for case, ratio in found if ratio is not None]


def _largest(gains: Iterable[tuple[str, Ratio]]) -> list[tuple[str, Ratio]]:
    return sorted(gains, key=lambda one: -one[1].value)[:3]
