"""The papers' claims: what they say, what is possible here, what CARAT does here, and the cause of a difference.

The cause is found by experiment, in this order: the ceiling (no static setting, or no phase's own optimum, comes near
the figure), the model (the shipped one fails, one of this cluster does not), the score (log2 reaches it), the cache
(stage 1 alone reaches it), or nothing that simulation can distinguish.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from penstock.evaluate import applications, dynamic, paper
from penstock.evaluate.evidence.asked import HERE, MIXES, PAPERS, PRINTED, TUNED, USERS, Runs
from penstock.evaluate.evidence.asks import BEST, Found
from penstock.evaluate.evidence.chapters import groups
from penstock.evaluate.evidence.paired_ratios import Ratio, RatioBook, app
from penstock.evaluate.request import OWN, SHIPPED
from penstock.report.page import Section, Table

# A claim is reproduced from 90 % of its figure on; for a claim of "up to" from 80 % on.
NEAR, NEAR_MOST = 0.9, 0.8
CEILING: Runs = (BEST, "", "")
LOG2: Runs = ("carat-log2", OWN, "off")
DIAL: Runs = ("dial", OWN, "off")
CARAT_SHIPPED: Runs = ("carat", SHIPPED, "off")
#: A figure of one policy, or None if it was not measured.
Figure = Callable[[Runs], Ratio | float | None]


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim: the paper's ratio, whether it is a maximum over many, and how to find the figure here."""

    words: str
    cluster: str
    said: float
    near: float
    figure: Figure
    ceiling: float | None

    def reached_by(self, runs: Runs) -> bool:
        value = _value(self.figure(runs))
        return value is not None and value >= self.near * self.said


def claims(book: RatioBook) -> Iterator[Claim]:
    """Every claim that there are rows for."""
    yield from _static(book)
    yield from _dynamic(book)
    for cluster in (HERE, PAPERS):
        yield from _pairs(book, cluster)
        yield from _mixes(book, cluster)
    yield from _applications(book)


def section(book: RatioBook) -> list[Section]:
    """All claims as a table, with the cause of each that is not reproduced."""
    found = list(claims(book))
    if not found:
        return []
    text = (
        "Ratios to the default. `carat` is the printed algorithm with a model of the cluster it is judged in. The "
        "ceiling is the best static setting (for sequences, each phase's own): what no tuner of these knobs can pass "
        "by much. A claim is reproduced where `carat` reaches nine tenths of the paper's figure (eight tenths of an "
        "`up to`). The cause is what an experiment showed, not a guess.",
    )
    rows = [
        [
            claim.words,
            claim.cluster,
            f"{claim.said:.2f}",
            _shown(claim.ceiling),
            *(_shown(claim.figure(runs)) for runs in (PRINTED, TUNED, USERS)),
            "yes" if claim.reached_by(PRINTED) else "**no**",
            "" if claim.reached_by(PRINTED) else cause(claim),
        ]
        for claim in found
    ]
    heading = ["claim", "cluster", "paper", "ceiling", "carat", "carat-tuned", "weir", "reproduced", "cause"]
    return [Section("The papers' claims", text, (), [Table(heading, rows)])]


def cause(claim: Claim) -> str:
    """Why `carat` does not reach a figure, as far as the rows show."""
    goal = claim.near * claim.said
    if claim.ceiling is not None and claim.ceiling < goal:
        return f"ceiling: no setting brings more than {claim.ceiling:.2f} here"
    for runs, words in (
        (LOG2, "score: with log2 it is reached"),
        (DIAL, "cache: stage 1 alone reaches it"),
        (CARAT_SHIPPED, "model: the shipped one reaches it"),
        (TUNED, "model and score together: carat-tuned reaches it"),
    ):
        if claim.reached_by(runs):
            return words
    if claim.ceiling is None:
        return "no ceiling measured"
    return f"the algorithm: {claim.ceiling:.2f} is there to be had, and neither score, cache nor model explains it"


def _most(book: RatioBook, place: tuple[str, str], cases: Sequence[str], runs: Runs) -> float | None:
    found = [r.value for case in cases if (r := book.ratio((*place, case), runs, app)) is not None]
    return max(found, default=None)


def _static(book: RatioBook) -> Iterator[Claim]:
    for cluster in (HERE, PAPERS):
        counted, apart = groups(book, cluster)
        place = ("static", cluster)
        for cases, words in (
            (counted, "Fig. 6: the largest gain, without rewriting"),
            (apart, "Fig. 6(d): rewriting"),
        ):
            if cases:
                yield Claim(
                    words, cluster, paper.STATIC_BEST, NEAR_MOST,
                    lambda runs, cases=cases, place=place: _most(book, place, cases, runs),  # type: ignore[misc]
                    _most(book, place, cases, CEILING),
                )  # fmt: skip
        if counted:
            yield Claim(
                "Fig. 6: the worst workload", cluster, paper.STATIC_WORST, 1.0,
                lambda runs, cases=counted, place=place: _least(book, place, cases, runs),  # type: ignore[misc]
                _least(book, place, counted, CEILING),
            )  # fmt: skip


def _least(book: RatioBook, place: tuple[str, str], cases: Sequence[str], runs: Runs) -> float | None:
    found = [r.value for case in cases if (r := book.ratio((*place, case), runs, app)) is not None]
    return min(found, default=None)


def _dynamic(book: RatioBook) -> Iterator[Claim]:
    def most(runs: Runs) -> float | None:
        found = [value for case in dynamic.SEQUENCES for value in _phase_ratios(book, case, runs)]
        return max(found, default=None)

    own = [
        _phase_ratios(book, case, (f"own:{work}", "", ""))[at : at + 1]
        for case, works in dynamic.SEQUENCES.items()
        for at, work in enumerate(works)
    ]
    ceiling = max((value for each in own for value in each), default=None)
    if most(PRINTED) is not None:
        yield Claim("Fig. 7: the largest gain in a phase", HERE, paper.DYNAMIC_BEST, NEAR_MOST, most, ceiling)


def _phase_ratios(book: RatioBook, case: str, runs: Runs) -> list[float]:
    mine, base = (book.found("dynamic", HERE, case, each).get(0) for each in (runs, ("default", "", "")))
    if mine is None or base is None:
        return []
    return [a / b for a, b in zip(mine.phases, base.phases, strict=True)]


def _pairs(book: RatioBook, cluster: str) -> Iterator[Claim]:
    place = ("independent", cluster, "table-v")
    ways: tuple[tuple[str, Callable[[Found], float]], ...] = (
        ("writer", lambda found: found.write),
        ("reader", lambda found: found.read),
    )
    for at, (way, rate) in enumerate(ways):
        said = paper.TABLE_V["carat"][at] / paper.TABLE_V["default"][at]
        ceiling = book.ratio(place, CEILING, rate)
        if ceiling is not None:
            yield Claim(
                f"Table V: the {way}", cluster, said, NEAR,
                lambda runs, rate=rate: book.ratio(place, runs, rate),  # type: ignore[misc]
                ceiling.value,
            )  # fmt: skip


def _mixes(book: RatioBook, cluster: str) -> Iterator[Claim]:
    for mix in MIXES:
        base, tuned = paper.TABLE_VI[mix]
        place = ("interference", cluster, mix)
        ceiling = book.ratio(place, CEILING, app)
        if ceiling is not None:
            yield Claim(
                f"Table VI: {mix}", cluster, tuned / base, NEAR,
                lambda runs, place=place: book.ratio(place, runs, app),  # type: ignore[misc]
                ceiling.value,
            )  # fmt: skip


def _applications(book: RatioBook) -> Iterator[Claim]:
    place = ("applications", HERE)
    learning = [case for case in applications.LEARNING if book.found(*place, case, CEILING)]
    if learning:
        yield Claim(
            "Fig. 8: deep learning, the largest gain", HERE, paper.LEARNING_BEST, NEAR_MOST,
            lambda runs: _most(book, place, learning, runs), _most(book, place, learning, CEILING),
        )  # fmt: skip
    for case, (base, tuned) in paper.TABLE_VII.items():
        ceiling = book.ratio((*place, case), CEILING, app)
        if ceiling is not None:
            yield Claim(
                f"Table VII: {case}", HERE, tuned / base, NEAR,
                lambda runs, case=case: book.ratio((*place, case), runs, app),  # type: ignore[misc]
                ceiling.value,
            )  # fmt: skip


def _value(figure: Ratio | float | None) -> float | None:
    return figure.value if isinstance(figure, Ratio) else figure


def _shown(figure: Ratio | float | None) -> str:
    value = _value(figure)
    return "—" if value is None else f"{value:.2f}"
