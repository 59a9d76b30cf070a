"""Why printed CARAT gets what it gets, row by row, from rows that differ in one thing.

Each workload is compared with its ceiling and with the same algorithm changed in one way. The first explanation that
the rows support is given, with its figures; where none does, that is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.evidence import replays
from benchmarks.evidence.asked import HERE, PRINTED, TUNED, Runs
from benchmarks.evidence.asks import BEST, DEFAULT
from benchmarks.evidence.claims import TAUGHT
from benchmarks.evidence.paired_ratios import RatioBook, app, wire

from penstock.evaluate.request import OWN, SHIPPED
from penstock.evaluate.seed_ratios import Ratio
from penstock.report.page import Section, Table

CEILING: Runs = (BEST, "", "")
USUAL = (1024, 8)
#: Less than this is no loss and no head-room, and this share of the head-room is all of it.
NOTHING, REACHED = 0.03, 0.8
#: One change each, and what it is.
CHANGES: tuple[tuple[Runs, str], ...] = (
    (("carat-log2", OWN, "off"), "score: logarithms of the knobs"),
    (("greedy", OWN, "off"), "score: probability alone, with the larger model"),
    (("carat-soft", OWN, "off"), "labels: soft and calibrated"),
    (("carat-history", OWN, "off"), "features: eight intervals of history"),
    (("carat-full", OWN, "off"), "features: the larger model"),
    (("carat-veto", OWN, "off"), "veto: leaves unknown work alone"),
    (("carat-budget", OWN, "off"), "cache: within the node's budget"),
    (("carat", SHIPPED, "off"), "model: the shipped one, of real rows"),
    (TUNED, "together: carat-tuned"),
)
Place = tuple[str, str, str]


def why(book: RatioBook, place: Place) -> str:
    """What the rows say about one workload."""
    mine, best = (book.ratio(place, runs, app) for runs in (PRINTED, CEILING))
    if mine is None or best is None:
        return "not measured"
    room = best.value - 1
    if mine.value < 1 - NOTHING:
        return f"loses: {_loss(book, place, mine)}"
    if room <= NOTHING:
        return "nothing to gain: no setting brings more than the default"
    if mine.value - 1 >= REACHED * room:
        return f"reaches {(mine.value - 1) / room:.2f} of the ceiling's gain"
    return _label(book, place, best) or _short(book, place, mine, best)


def _label(book: RatioBook, place: Place, best: Ratio) -> str:
    """Whether a model's label can show the gain that there is."""
    if best.value < TAUGHT:
        return f"label: only 1.15 times and more is called a gain, and the ceiling is {best.value:.2f}"
    carried = book.ratio(place, CEILING, wire) if place[0] == "static" else None
    if carried is not None and carried.value < TAUGHT:
        return f"label: taught by the wire, which carries {carried.value:.2f} at the ceiling"
    return ""


def _loss(book: RatioBook, place: Place, mine: Ratio) -> str:
    carried = book.ratio(place, PRINTED, wire)
    if place[0] == "static" and carried is not None and carried.value > mine.value + NOTHING:
        return (
            f"memory: the wire carries {carried.value:.2f} of the default's bytes; applications filled or reused "
            "less memory"
        )
    better = _better(book, place, mine.value, 1 - NOTHING)
    return better or "promised gains do not come true, whatever is changed"


def _short(book: RatioBook, place: Place, mine: Ratio, best: Ratio) -> str:
    goal = 1 + REACHED * (best.value - 1)
    stays = all(found.setting == USUAL for found in book.found(*place, PRINTED).values())
    words = "no candidate passes tau" if stays else f"{(mine.value - 1) / (best.value - 1):.2f} of the gain"
    return f"{words}; {_better(book, place, mine.value, goal) or 'no single change brings it'}"


def _better(book: RatioBook, place: Place, mine: float, goal: float) -> str:
    """The first change that reaches a goal, or else the best of those that bring something."""
    known = [(r.value, words) for runs, words in CHANGES if (r := book.ratio(place, runs, app)) is not None]
    for value, words in known:
        if value >= goal:
            return f"{words} brings {value:.2f}"
    value, words = max(known, default=(0.0, ""))
    return f"no single change reaches it, {words} brings {value:.2f}" if value > mine + NOTHING else ""


def sections(book: RatioBook) -> Iterator[Section]:
    """Printed CARAT on simulated workloads and over the rows of real clients."""
    usual: Runs = (DEFAULT, "", "")
    tables = []
    for experiment, cluster, words in (
        ("static", HERE, "simulated"),
        (replays.EXPERIMENT, replays.TRACES, "replay"),
    ):
        cases = [
            case
            for case in book.cases(experiment, cluster, usual)
            if book.found(experiment, cluster, case, PRINTED)
        ]
        if cases:
            tables.append(_table(book, (experiment, cluster), cases, words))
    if tables:
        text = (
            "`carat` with a model of this cluster, unguarded, beside its ceiling. The explanation is what rows show "
            "that differ in one thing. A model's label is what the wire carries in half a second against the half "
            "second before: gains below 1.15, and gains in memory, cannot be learned from it.",
        )
        yield Section("Printed CARAT, row by row", text, (), tables)


def _table(book: RatioBook, where: tuple[str, str], cases: Sequence[str], words: str) -> Table:
    rows = []
    for case in cases:
        place = (*where, case)
        mine, best = (book.ratio(place, runs, app) for runs in (PRINTED, CEILING))
        shown = f"**{mine}**" if mine is not None and mine.gains else str(mine)
        rows.append([case, "—" if best is None else f"{best.value:.2f}", shown, why(book, place)])
    return Table([words, "ceiling", "carat", "why"], rows)
