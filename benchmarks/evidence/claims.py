"""The papers' claims: what they say, what is possible here, what CARAT does here, and the cause of a difference.

The cause is found by experiment, in this order: the ceiling (no static setting, or no phase's own optimum, comes near
the figure), the label (at the best setting the wire carries no more than at the default, and models are taught what
the wire carries), the score (log2 reaches it), the cache (stage 1 alone reaches it), the model (the shipped one, or
the one of carat-tuned, reaches it), or nothing that simulation can distinguish.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.evidence.asked import HERE, MIXES, PAPERS, PRINTED, TUNED, USERS, Runs
from benchmarks.evidence.asks import BEST, DEFAULT, Found
from benchmarks.evidence.chapters import groups
from benchmarks.evidence.paired_ratios import RatioBook, app, wire

from penstock.evaluate import applications, dynamic, paper
from penstock.evaluate.request import OWN, SHIPPED
from penstock.evaluate.seed_ratios import Ratio, over_seeds
from penstock.report.page import Section, Table

# A claim is reproduced from 90 % of its figure on; for a claim of "up to" from 80 % on.
NEAR, NEAR_MOST = 0.9, 0.8
CEILING: Runs = (BEST, "", "")
DEFAULTS: Runs = (DEFAULT, "", "")
LOG2: Runs = ("carat-log2", OWN, "off")
DIAL: Runs = ("dial", OWN, "off")
CARAT_SHIPPED: Runs = ("carat", SHIPPED, "off")
# What a model is taught to call a gain: this many times the bytes on the wire.
TAUGHT = 1.15
#: A figure of one policy, or None if it was not measured.
Figure = Callable[[Runs], Ratio | None]


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim: the paper's ratio, what counts as near it, and how to find the figure here.

    `ceiling` is the best that held settings reach, `carried` the ratio of bytes on the wire there.
    """

    words: str
    cluster: str
    said: float
    near: float
    figure: Figure
    ceiling: float | None
    carried: float | None = None

    def reached_by(self, runs: Runs) -> bool:
        """Whether the figure is near. If the paper claims a gain, the whole interval here must be above 1 too."""
        ratio = self.figure(runs)
        near = ratio is not None and ratio.value >= self.near * self.said
        return near and (self.said <= 1.0 or (ratio is not None and ratio.gains))


def claims(book: RatioBook) -> Iterator[Claim]:
    """Every claim that there are rows for."""
    yield from _static(book)
    yield from _dynamic(book)
    for cluster in (HERE, PAPERS):
        yield from _pairs(book, cluster)
        yield from _mixes(book, cluster)
    yield from _applications(book)
    yield from _kernels(book)


def section(book: RatioBook) -> list[Section]:
    """All claims as a table, with the cause of each that is not reproduced."""
    found = list(claims(book))
    if not found:
        return []
    text = (
        "Ratios to the default. `carat` is the printed algorithm with a model of the cluster it is judged in. The "
        "ceiling is the best single setting of pages and flight (for sequences, one for each phase), without the "
        "dirty limit: a tuner that gives every target its own can pass it. Fig. 7 and Table VI stand here on "
        "sequences and mixes of ours (`--list read`, `write`, `mixed`), not on the authors' own (see "
        "[judged-by.md](judged-by.md)). Applications do a fixed amount of work. "
        "A claim is reproduced where `carat` reaches nine tenths of the paper's figure (eight tenths of an "
        "`up to`) and, if that is a gain, its whole 95 % interval is above 1. Table II of DIAL is of the best static "
        "setting, not of the default; `carat`'s stage 1 is DIAL. The cause is what an experiment showed, not a "
        "guess. A cause `ceiling` means that this simulation cannot show the claim at all: whether real Lustre has a "
        "mechanism that it lacks cannot be settled without a cluster.",
    )
    rows = [
        [
            claim.words,
            claim.cluster,
            f"{claim.said:.2f}",
            _shown(claim.ceiling),
            *(_shown(claim.figure(runs)) for runs in (PRINTED, TUNED, USERS)),
            *verdict(claim),
        ]
        for claim in found
    ]
    heading = ["claim", "cluster", "paper", "ceiling", "carat", "carat-tuned", "weir", "reproduced", "cause"]
    return [Section("The papers' claims", text, (), [Table(heading, rows)])]


def verdict(claim: Claim) -> tuple[str, str]:
    """Whether `carat` reproduces a claim, and the cause if not."""
    if claim.reached_by(PRINTED):
        return "yes", ""
    found = cause(claim)
    if claim.figure(PRINTED) is None and not found.startswith("ceiling"):
        return "not measured", ""
    return "**no**", found


def missed(claim: Claim) -> bool:
    """Whether a claim is known not to be reproduced."""
    return verdict(claim)[0] == "**no**"


def cause(claim: Claim) -> str:
    """Why `carat` does not reach a figure, as far as the rows show."""
    goal = claim.near * claim.said
    if claim.ceiling is not None and claim.ceiling < goal:
        return f"ceiling: no setting brings more than {claim.ceiling:.2f} here"
    if claim.ceiling is not None and 1.0 < claim.ceiling < TAUGHT:
        return f"label: only {TAUGHT} times and more is called a gain, and the ceiling is {claim.ceiling:.2f}"
    if claim.ceiling is not None and claim.carried is not None and claim.carried < TAUGHT:
        return (
            f"label: where applications get {claim.ceiling:.2f}, the wire carries {claim.carried:.2f}; models are "
            "taught what the wire carries, so none can see this gain"
        )
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


def _most(book: RatioBook, place: tuple[str, str], cases: Sequence[str], runs: Runs) -> Ratio | None:
    found = [r for case in cases if (r := book.ratio((*place, case), runs, app)) is not None]
    return max(found, key=lambda ratio: ratio.value, default=None)


def _least(book: RatioBook, place: tuple[str, str], cases: Sequence[str], runs: Runs) -> Ratio | None:
    found = [r for case in cases if (r := book.ratio((*place, case), runs, app)) is not None]
    return min(found, key=lambda ratio: ratio.value, default=None)


def _carried(book: RatioBook, place: tuple[str, str], cases: Sequence[str]) -> float | None:
    """What the wire carries at the best setting of the case with the highest ceiling."""
    known = {case: r.value for case in cases if (r := book.ratio((*place, case), CEILING, app)) is not None}
    if not known:
        return None
    return _value(book.ratio((*place, max(known, key=lambda case: known[case])), CEILING, wire))


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
                    _value(_most(book, place, cases, CEILING)), _carried(book, place, cases),
                )  # fmt: skip
        if counted:
            yield Claim(
                "Fig. 6: the worst workload", cluster, paper.STATIC_WORST, 1.0,
                lambda runs, cases=counted, place=place: _least(book, place, cases, runs),  # type: ignore[misc]
                _value(_least(book, place, counted, CEILING)),
            )  # fmt: skip


def _dynamic(book: RatioBook) -> Iterator[Claim]:
    def most(runs: Runs) -> Ratio | None:
        found = [
            ratio
            for case, works in dynamic.SEQUENCES.items()
            for at in range(len(works))
            if (ratio := _phase_ratio(book, case, at, runs)) is not None
        ]
        return max(found, key=lambda ratio: ratio.value, default=None)

    own = [
        _phase_ratio(book, case, at, (f"own:{work}", "", ""))
        for case, works in dynamic.SEQUENCES.items()
        for at, work in enumerate(works)
    ]
    ceiling = max((ratio.value for ratio in own if ratio is not None), default=None)
    if most(PRINTED) is not None:
        yield Claim("Fig. 7: the largest gain in a phase", HERE, paper.DYNAMIC_BEST, NEAR_MOST, most, ceiling)


def _phase_ratio(book: RatioBook, case: str, at: int, runs: Runs) -> Ratio | None:
    mine, base = (book.found("dynamic", HERE, case, each) for each in (runs, DEFAULTS))
    values = [mine[seed].phases[at] / base[seed].phases[at] for seed in sorted(mine.keys() & base.keys())]
    return over_seeds(values) if values else None


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
                ceiling.value, _value(book.ratio(place, CEILING, wire)),
            )  # fmt: skip


def _applications(book: RatioBook) -> Iterator[Claim]:
    place = ("applications", HERE)
    learning = applications.LEARNING
    if all(book.found(*place, case, CEILING) for case in learning):
        yield Claim(
            "Fig. 8: deep learning, the largest gain", HERE, paper.LEARNING_BEST, NEAR_MOST,
            lambda runs: _most(book, place, learning, runs), _value(_most(book, place, learning, CEILING)),
            _carried(book, place, learning),
        )  # fmt: skip
    for case, (base, tuned) in paper.TABLE_VII.items():
        ceiling = book.ratio((*place, case), CEILING, app)
        if ceiling is not None:
            yield Claim(
                f"Table VII: {case}", HERE, tuned / base, NEAR,
                lambda runs, case=case: book.ratio((*place, case), runs, app),  # type: ignore[misc]
                ceiling.value, _value(book.ratio((*place, case), CEILING, wire)),
            )  # fmt: skip


def _kernels(book: RatioBook) -> Iterator[Claim]:
    """DIAL's Table II: how near the best static setting each kernel comes."""
    for case, (best, tuned) in paper.DIAL_II.items():
        place = ("applications", HERE, case)
        if book.found(*place, CEILING):
            yield Claim(
                f"DIAL, Table II: {case}, of the best static setting", HERE, tuned / best, 0.98,
                lambda runs, place=place: book.ratio(place, runs, app, CEILING),  # type: ignore[misc]
                1.0,
            )  # fmt: skip


def _value(figure: Ratio | None) -> float | None:
    return None if figure is None else figure.value


def _shown(figure: Ratio | float | None) -> str:
    if isinstance(figure, Ratio):
        return f"**{figure}**" if figure.gains else str(figure)
    return "—" if figure is None else f"{figure:.2f}"
