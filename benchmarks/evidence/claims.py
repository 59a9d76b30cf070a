"""The papers' claims about tuning, by fixed ids: what they say, who is judged, and the verdict that follows.

A claim is reproduced where the policy named for it reaches nine tenths of the paper's figure (eight tenths of an
"up to") and, if that is a gain, its whole 95 % interval lies above 1. One seed has no interval, so a gain that is
near stays undecided. Claims are listed whether or not they were measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.evidence.asked import HERE, PRINTED, USERS, Runs
from benchmarks.evidence.asks import BEST, DEFAULT, Found
from benchmarks.evidence.chapters import groups
from benchmarks.evidence.claim_rows import AUTHORS, CLUSTERS, DIAL, LISTS, PAIR, SEQUENCES
from benchmarks.evidence.paired_ratios import RatioBook, app, wire

from penstock.evaluate import applications, paper
from penstock.evaluate.authors_lists import AUTHORS_SEQUENCES
from penstock.evaluate.seed_ratios import Ratio, over_seeds

# A claim is reproduced from 90 % of its figure on; for a claim of "up to" from 80 % on.
NEAR, NEAR_MOST = 0.9, 0.8
CEILING: Runs = (BEST, "", "")
DEFAULTS: Runs = (DEFAULT, "", "")
# What a model is taught to call a gain: this many times the bytes on the wire.
TAUGHT = 1.15
REPRODUCED, MISSED, UNMEASURED = "reproduced", "**not reproduced**", "not measured since"
UNDECIDED = "undecided"
#: What would settle any claim about tuning; a claim's own `settle` comes on top.
SETTLE = (
    "a Lustre file system of the paper's kind, and there that work under `penstock agent run --mode tune --policy "
    "POLICY`, with `penstock agent trial`"
)
MEASURE = "`./run bench claims`"
#: A figure of one policy, or None if it was not measured.
Figure = Callable[[Runs], Ratio | None]


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim: its id, the paper's ratio, what counts as near it, who is judged, and how to find figures here.

    `ceiling` is the best that held settings reach, `carried` the ratio of bytes on the wire there. `settle` is what
    would decide it where it stays open, besides `SETTLE`.
    """

    id: str
    words: str
    cluster: str
    said: float
    near: float
    policy: Runs
    figure: Figure
    ceiling: float | None = None
    carried: float | None = None
    settle: str = ""

    def reached_by(self, runs: Runs) -> bool:
        """Whether the figure is near. If the paper claims a gain, the whole interval here must be above 1 too."""
        ratio = self.figure(runs)
        near = ratio is not None and ratio.value >= self.near * self.said
        return near and (self.said <= 1.0 or (ratio is not None and ratio.gains))


def claims(book: RatioBook) -> list[Claim]:
    """All of them: 18 on the cluster of the public traces, 8 on the papers' own."""
    return [
        *(claim for cluster in CLUSTERS for claim in _static(book, cluster)),
        _dynamic(book),
        *(claim for cluster in CLUSTERS for claim in (*_pairs(book, cluster), *_mixes(book, cluster))),
        *_applications(book),
        *_kernels(book),
    ]


def verdict(claim: Claim) -> tuple[str, str]:
    """Whether the policy named for it reproduces a claim; if not why, or what would settle it."""
    figure = claim.figure(claim.policy)
    if figure is None:
        return UNMEASURED, MEASURE
    if claim.said > 1.0 and figure.low is None and figure.value >= claim.near * claim.said:
        return UNDECIDED, f"more seeds: {MEASURE}"
    if claim.reached_by(claim.policy):
        return REPRODUCED, ""
    return MISSED, "; ".join(filter(None, (cause(claim), claim.settle)))


def cause(claim: Claim) -> str:
    """Why the named policy does not reach a figure, as far as the rows show."""
    if claim.ceiling is None:
        return "no ceiling measured"
    if claim.ceiling < claim.near * claim.said:
        return "ceiling: no held setting brings more here"
    if 1.0 < claim.ceiling < TAUGHT:
        return f"label: only {TAUGHT} times and more is called a gain, and the ceiling is {claim.ceiling:.2f}"
    if claim.carried is not None and claim.carried < TAUGHT:
        return (
            f"label: where applications get {claim.ceiling:.2f}, the wire carries {claim.carried:.2f}, and models "
            "are taught what the wire carries"
        )
    return f"the algorithm: {claim.ceiling:.2f} is there to be had"


def row(claim: Claim) -> list[str]:
    """The claim as a line of the page."""
    return [
        claim.id,
        claim.words,
        f"{claim.said:.2f}",
        f"`{claim.policy[0]}`",
        shown(claim.figure(claim.policy)),
        shown(claim.ceiling),
        shown(claim.figure(PRINTED)),
        shown(claim.figure(USERS)),
        *verdict(claim),
    ]


HEADING = (
    "id",
    "claim",
    "paper",
    "judged by",
    "ours",
    "ceiling",
    "carat",
    "weir",
    "verdict",
    "why open",
)


def shown(figure: Ratio | float | None) -> str:
    """A figure with its interval; bold where it is a gain beyond doubt."""
    if isinstance(figure, Ratio):
        return f"**{figure}**" if figure.gains else str(figure)
    return "-" if figure is None else f"{figure:.2f}"


def _static(book: RatioBook, cluster: str) -> list[Claim]:
    counted, apart = groups(book, cluster)
    place = ("static", cluster)

    def most(cases: Sequence[str]) -> Figure:
        return lambda runs: _extreme(book, place, cases, runs, max)

    return [
        Claim(
            f"carat-fig6-best@{cluster}", "Fig. 6: the largest gain, without rewriting", cluster,
            paper.STATIC_BEST, NEAR_MOST, AUTHORS, most(counted),
            _value(most(counted)(CEILING)), _carried(book, place, counted),
        ),
        Claim(
            f"carat-fig6d@{cluster}", "Fig. 6(d): rewriting", cluster,
            paper.STATIC_BEST, NEAR_MOST, AUTHORS, most(apart),
            _value(most(apart)(CEILING)), _carried(book, place, apart),
        ),
        Claim(
            f"carat-fig6-worst@{cluster}", "Fig. 6: the worst workload", cluster,
            paper.STATIC_WORST, 1.0, AUTHORS, lambda runs: _extreme(book, place, counted, runs, min),
            _value(_extreme(book, place, counted, CEILING, min)),
        ),
    ]  # fmt: skip


def _extreme(
    book: RatioBook,
    place: tuple[str, str],
    cases: Sequence[str],
    runs: Runs,
    which: Callable[..., Ratio],
) -> Ratio | None:
    found = [r for case in cases if (r := book.ratio((*place, case), runs, app)) is not None]
    return which(found, key=lambda ratio: ratio.value) if found else None


def _carried(book: RatioBook, place: tuple[str, str], cases: Sequence[str]) -> float | None:
    """What the wire carries at the best setting of the case with the highest ceiling."""
    known = {case: r.value for case in cases if (r := book.ratio((*place, case), CEILING, app)) is not None}
    if not known:
        return None
    return _value(book.ratio((*place, max(known, key=lambda case: known[case])), CEILING, wire))


def _dynamic(book: RatioBook) -> Claim:
    """The authors' own sequences, phase by phase."""
    phases = [(case, at, work) for case in SEQUENCES for at, work in enumerate(AUTHORS_SEQUENCES[case])]

    def most(runs: Runs) -> Ratio | None:
        found = [r for case, at, _ in phases if (r := _phase_ratio(book, case, at, runs)) is not None]
        return max(found, key=lambda ratio: ratio.value, default=None)

    own = [_phase_ratio(book, case, at, (f"own:{work}", "", "")) for case, at, work in phases]
    ceiling = max((ratio.value for ratio in own if ratio is not None), default=None)
    words = "Fig. 7: the largest gain in a phase, authors' sequences"
    return Claim(f"carat-fig7@{HERE}", words, HERE, paper.DYNAMIC_BEST, NEAR_MOST, AUTHORS, most, ceiling)


def _phase_ratio(book: RatioBook, case: str, at: int, runs: Runs) -> Ratio | None:
    mine, base = (book.found("dynamic", HERE, case, each) for each in (runs, DEFAULTS))
    values = [mine[seed].phases[at] / base[seed].phases[at] for seed in sorted(mine.keys() & base.keys())]
    return over_seeds(values) if values else None


def _pairs(book: RatioBook, cluster: str) -> list[Claim]:
    place = ("independent", cluster, PAIR)
    rates: dict[str, Callable[[Found], float]] = {
        "writer": lambda found: found.write,
        "reader": lambda found: found.read,
    }
    return [
        Claim(
            f"carat-table5-{way}@{cluster}", f"Table V: the {way}", cluster,
            paper.TABLE_V["carat"][at] / paper.TABLE_V["default"][at], NEAR, AUTHORS,
            _ratios(book, place, rates[way]), _value(book.ratio(place, CEILING, rates[way])),
            settle="which servers the paper used",
        )
        for at, way in enumerate(rates)
    ]  # fmt: skip


def _ratios(book: RatioBook, place: tuple[str, str, str], rate: Callable[[Found], float]) -> Figure:
    return lambda runs: book.ratio(place, runs, rate)


def _mixes(book: RatioBook, cluster: str) -> list[Claim]:
    """Table VI, each kind by the geometric mean over the authors' lists, seed by seed."""
    found = []
    for kind, (base, tuned) in paper.TABLE_VI.items():

        def over_lists(runs: Runs, names: Sequence[str] = LISTS[kind]) -> Ratio | None:
            return book.overall("interference", cluster, names, runs)

        words = f"Table VI: {kind}, {len(LISTS[kind])} lists of the authors"
        found.append(
            Claim(
                f"carat-table6-{kind}@{cluster}", words, cluster, tuned / base, NEAR, AUTHORS, over_lists,
                _value(over_lists(CEILING)), settle="which lists the paper ran",
            )
        )  # fmt: skip
    return found


def _applications(book: RatioBook) -> list[Claim]:
    place, learning = ("applications", HERE), applications.LEARNING

    def most(runs: Runs) -> Ratio | None:
        return _extreme(book, place, learning, runs, max)

    found = [
        Claim(
            f"carat-fig8@{HERE}", "Fig. 8: deep learning, the largest gain", HERE, paper.LEARNING_BEST,
            NEAR_MOST, AUTHORS, most, _value(most(CEILING)), _carried(book, place, learning),
        )
    ]  # fmt: skip
    for case, (base, tuned) in paper.TABLE_VII.items():
        at = (*place, case)
        found.append(
            Claim(
                f"carat-table7-{case}@{HERE}", f"Table VII: {case}", HERE, tuned / base, NEAR, AUTHORS,
                _ratios(book, at, app), _value(book.ratio(at, CEILING, app)),
                _value(book.ratio(at, CEILING, wire)),
            )
        )  # fmt: skip
    return found


def _kernels(book: RatioBook) -> list[Claim]:
    """DIAL's Table II: how near the best static setting each kernel comes."""

    def of_best(place: tuple[str, str, str]) -> Figure:
        return lambda runs: book.ratio(place, runs, app, CEILING)

    return [
        Claim(
            f"dial-table2-{case}@{HERE}", f"DIAL, Table II: {case}, of the best static setting", HERE,
            tuned / best, 0.98, DIAL, of_best(("applications", HERE, case)), 1.0,
        )
        for case, (best, tuned) in paper.DIAL_II.items()
    ]  # fmt: skip


def _value(figure: Ratio | None) -> float | None:
    return None if figure is None else figure.value
