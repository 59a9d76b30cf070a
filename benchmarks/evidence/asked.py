"""The rows behind docs/explanation/results.md: cases, policies, durations and numbers of seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.evidence.asks import DEFAULT, Ask, class_of

from penstock.evaluate import budgets
from penstock.evaluate.request import OWN, SHIPPED
from penstock.workload import NAMES

Runs = tuple[str, str, str]

HERE, PAPERS = "c220g5", "c6525-25g"
#: The shipped policy, and the paper's algorithm with a model of the evaluated cluster.
USERS: Runs = ("weir", SHIPPED, "on")
PRINTED: Runs = ("carat", OWN, "off")
#: The printed algorithm, then one improvement at a time, then all of them.
VARIANTS = (
    "carat", "carat-log2", "carat-veto", "carat-history", "carat-soft", "carat-full", "carat-budget", "greedy",
    "carat-tuned",
)  # fmt: skip
#: Stage 2 alone, as printed and inside the node's budget.
STAGES = ("cache-printed", "cache-fitted")
PARTS = ("variants", "budgets")


@dataclass(frozen=True, slots=True)
class Extent:
    """How much to measure: seconds per row, seeds for headline rows and for others, and policies to leave out."""

    seconds: float = 60.0
    headline_seeds: int = 5
    other_seeds: int = 2
    parts: tuple[str, ...] = PARTS
    without: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()

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


def _variants(extent: Extent) -> Iterator[Ask]:
    who = [(policy, OWN, "off") for policy in VARIANTS]
    for case in NAMES:
        yield from rows_of_case(("static", HERE, case), (DEFAULT, *who), extent, extent.other_seeds)


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


_PARTS = {"variants": _variants, "budgets": _budgets}
