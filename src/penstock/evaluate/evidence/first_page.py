"""The first page for a reviewer: what is claimed, on what evidence, and what failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from penstock.evaluate.evidence.asked import HEADLINE, HERE, PAPERS, PRINTED, TUNED, USERS, Runs
from penstock.evaluate.evidence.chapters import groups, named
from penstock.evaluate.evidence.claims import claims
from penstock.evaluate.evidence.paired_ratios import Ratio, RatioBook, app
from penstock.report.page import Section, Table

#: The target of the best combination on random reads of 1 MB.
TUNED_READS = 1.85


def section(book: RatioBook) -> Section:
    """Claims first, then what did not hold."""
    text = [
        "Everything below is simulation of the cluster that the public traces were recorded on "
        "(docs/explanation/fidelity.md says how far it can be trusted); "
        "nothing was measured on a running Lustre file system. A gain is claimed "
        "only where the 95 % interval of its ratio to the default, over seeds, lies above 1 as a whole.",
        *_claimed(book),
        *_failed(book),
    ]
    return Section(
        "In five minutes", text, (), [Table(["goal", "aimed at", "measured", "met"], list(_goals(book)))]
    )


def _claimed(book: RatioBook) -> Iterator[str]:
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


def _failed(book: RatioBook) -> Iterator[str]:
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
                yield f"**Failed**: {named(runs)} on {cluster} loses 5 % or more on {len(losses)} workloads: {worst}."
        if apart:
            yield f"Left out on {cluster}, because memory does the work: {', '.join(apart)}."
    known = list(claims(book))
    missing = [claim.words for claim in known if claim.cluster == HERE and not claim.reached_by(PRINTED)]
    if known:
        yield (
            f"Of the papers' claims, {len(missing)} are not reproduced on {HERE}: {'; '.join(missing)}. The table "
            "below has the ceiling and the cause of each."
        )


def _goals(book: RatioBook) -> Iterator[list[str]]:
    reads = book.ratio(("static", HERE, "s_rd_rn_1m"), TUNED, app)
    yield _goal(f"{named(TUNED)} on s_rd_rn_1m", TUNED_READS, reads)
    for cluster in (HERE, PAPERS):
        counted, _ = groups(book, cluster)
        each = [ratio for _, ratio in _each(book, cluster, counted, USERS)]
        worst = min(each, key=lambda ratio: ratio.value, default=None)
        yield _goal(f"{named(USERS)} on {cluster}: worst static workload", 0.95, worst)
        yield _goal(
            f"{named(USERS)} on {cluster}: mean", 1.0, book.overall("static", cluster, counted, USERS)
        )


def _goal(words: str, least: float, ratio: Ratio | None) -> list[str]:
    if ratio is None:
        return [words, f">= {least:g}", "not measured in this run", "—"]
    return [words, f">= {least:g}", str(ratio), "yes" if ratio.value >= least else "**no**"]


def _each(book: RatioBook, cluster: str, cases: Sequence[str], runs: Runs) -> list[tuple[str, Ratio]]:
    found = [(case, book.ratio(("static", cluster, case), runs, app)) for case in cases]
    return [(case, ratio) for case, ratio in found if ratio is not None]


def _largest(gains: Iterable[tuple[str, Ratio]]) -> list[tuple[str, Ratio]]:
    return sorted(gains, key=lambda one: -one[1].value)[:3]
