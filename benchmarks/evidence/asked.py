"""The list of rows that the results consist of: cases, policies, durations and numbers of seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.evidence import replays
from benchmarks.evidence.asks import BEST, DEFAULT, SINGLE, Ask, class_of
from benchmarks.evidence.cases import REWRITING, REWRITTEN

from penstock.evaluate import applications, budgets, dynamic, independent, interference
from penstock.evaluate.request import OWN, SHIPPED
from penstock.workload import NAMES

Runs = tuple[str, str, str]

HERE, PAPERS = "c220g5", "c6525-25g"
#: The shipped policy, the paper's algorithm and its best combination, both with a model of the evaluated cluster.
USERS: Runs = ("weir", SHIPPED, "on")
PRINTED: Runs = ("carat", OWN, "off")
TUNED: Runs = ("carat-tuned", OWN, "off")
HEADLINE = (USERS, PRINTED, TUNED)
LEARNED = ("weir", "carat", "carat-tuned")
FOUR = tuple(
    (policy, model, guard) for policy in LEARNED for model in (OWN, SHIPPED) for guard in ("on", "off")
)
#: The printed algorithm, then one improvement at a time, then all of them.
VARIANTS = (
    "carat", "carat-log2", "carat-veto", "carat-history", "carat-soft", "carat-full", "carat-budget", "greedy",
    "carat-tuned",
)  # fmt: skip
#: Stage 2 alone, as printed and inside the node's budget.
STAGES = ("cache-printed", "cache-fitted")
PARTS = (
    "static",
    "four",
    "variants",
    "papers-cluster",
    "dynamic",
    "tables",
    "budgets",
    "rewriting",
    "replay",
)
#: The policies to replay over real rows: with the shipped model, which was trained on these rows, and with one from
#: simulation only.
REPLAYED = tuple(
    (policy, model, "on" if policy == "weir" else "off") for policy in LEARNED for model in (OWN, SHIPPED)
)
#: Replayed to explain the printed algorithm: one change each.
REPLAYED_CHANGES: tuple[Runs, ...] = (
    ("carat-log2", OWN, "off"),
    ("carat-veto", OWN, "off"),
    ("greedy", OWN, "off"),
)
MIXES = tuple(interference.MIXES)


@dataclass(frozen=True, slots=True)
class Extent:
    """How much to measure: seconds per row, seeds for headline rows and for others, and policies to leave out.

    `recorded` are the workloads of real clients that can be replayed.
    """

    seconds: float = 60.0
    headline_seeds: int = 5
    other_seeds: int = 2
    parts: tuple[str, ...] = PARTS
    without: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    recorded: tuple[str, ...] = ()

    def allows(self, ask: Ask) -> bool:
        """Whether a row is wanted."""
        return ask.label not in self.without and (not self.cases or ask.case in self.cases)


def asked(extent: Extent) -> list[Ask]:
    """Every row, each once."""
    found = [ask for part in extent.parts for ask in _PARTS[part](extent)]
    return [ask for ask in dict.fromkeys(found) if extent.allows(ask)]


def rows_of_case(
    place: tuple[str, str, str], who: Sequence[Runs | str], extent: Extent, seeds: int
) -> Iterator[Ask]:
    """One case under everybody named, seed by seed."""
    experiment, cluster, case = place
    for runs in who:
        label, model, guard = (runs, "", "") if isinstance(runs, str) else runs
        if not isinstance(runs, str) and not class_of(label).uses_model:
            model = ""
        for seed in range(seeds):
            yield Ask(experiment, cluster, case, label, extent.seconds, seed, model, guard)


def _static(extent: Extent) -> Iterator[Ask]:
    for case in NAMES:
        yield from rows_of_case(
            ("static", HERE, case), (DEFAULT, BEST, *HEADLINE), extent, extent.headline_seeds
        )


def _four(extent: Extent) -> Iterator[Ask]:
    for case in NAMES:
        yield from rows_of_case(("static", HERE, case), (DEFAULT, *FOUR), extent, 1)


def _variants(extent: Extent) -> Iterator[Ask]:
    who = [(policy, OWN, "off") for policy in VARIANTS]
    for case in NAMES:
        yield from rows_of_case(("static", HERE, case), (DEFAULT, *who), extent, extent.other_seeds)


def _papers_cluster(extent: Extent) -> Iterator[Ask]:
    for case in NAMES:
        yield from rows_of_case(
            ("static", PAPERS, case), (DEFAULT, BEST, *HEADLINE), extent, extent.other_seeds
        )


def _dynamic(extent: Extent) -> Iterator[Ask]:
    for case, works in dynamic.SEQUENCES.items():
        place = ("dynamic", HERE, case)
        yield from rows_of_case(place, (DEFAULT, SINGLE, *HEADLINE), extent, extent.other_seeds)
        yield from rows_of_case(place, [f"own:{work}" for work in works], extent, 1)


def _tables(extent: Extent) -> Iterator[Ask]:
    """The papers' tables: each on the validated cluster and on the papers' own."""
    places = [("independent", case) for case in independent.PAIRS]
    places += [("interference", case) for case in MIXES]
    who = (
        DEFAULT,
        BEST,
        *HEADLINE,
        ("carat", SHIPPED, "off"),
        ("dial", OWN, "off"),
        ("carat-log2", OWN, "off"),
    )
    for cluster in (HERE, PAPERS):
        for experiment, case in places:
            yield from rows_of_case((experiment, cluster, case), who, extent, extent.other_seeds)
    for case in applications.NAMES:
        yield from rows_of_case(("applications", HERE, case), who, extent, extent.other_seeds)


def _budgets(extent: Extent) -> Iterator[Ask]:
    who: tuple[Runs | str, ...] = (
        DEFAULT,
        "equal",
        "best-split",
        *((stage, "", "off") for stage in STAGES),
    )
    for case in budgets.NAMES:
        yield from rows_of_case(
            ("budgets", HERE, case.removeprefix("budget-")), who, extent, extent.other_seeds
        )


def _rewriting(extent: Extent) -> Iterator[Ask]:
    work, sizes = REWRITTEN
    for size in sizes:
        yield from rows_of_case(
            (REWRITING, HERE, f"{work}-{size}GiB"), (DEFAULT, f"own:{work}"), extent, extent.other_seeds
        )


def _replay(extent: Extent) -> Iterator[Ask]:
    for case in extent.recorded:
        for runs in ((DEFAULT, "", ""), (BEST, "", ""), *REPLAYED, *REPLAYED_CHANGES):
            for seed in range(extent.headline_seeds):
                yield Ask(replays.EXPERIMENT, replays.TRACES, case, runs[0], replays.STEPS, seed, *runs[1:])


_PARTS = {
    "replay": _replay,
    "static": _static,
    "four": _four,
    "variants": _variants,
    "papers-cluster": _papers_cluster,
    "dynamic": _dynamic,
    "tables": _tables,
    "budgets": _budgets,
    "rewriting": _rewriting,
}
