"""Rows of the baseline: what one case of a set brought under every policy, against the default."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.evaluate import applications, independent
from penstock.evaluate.authors_lists import AUTHORS_LISTS, AUTHORS_SEQUENCES
from penstock.evaluate.figures import geomean
from penstock.evaluate.request import BEST_STATIC
from penstock.report.page import Section, Table
from penstock.workload import NAMES

Document = Mapping[str, Any]
WORLDS = "worlds"


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """One case: ratios to the default of the ceiling, where one was searched, and of every policy."""

    set: str
    cluster: str
    case: str
    ceiling: float | None
    policies: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class BaselineSet:
    """The rows that a set knows, and how its document is read: cases with their rates by label."""

    names: tuple[str, ...]
    cases: Callable[[Document], Iterator[tuple[str, float, Mapping[str, float]]]]


def rows_of(name: str, document: Document) -> list[BaselineRow]:
    """The rows of an experiment's document."""
    return [
        BaselineRow(name, document["cluster"], case, ceiling, dict(policies))
        for case, ceiling, policies in SETS[name].cases(document)
    ]


def world_rows(document: Document) -> list[BaselineRow]:
    """The rows of worlds drawn at random, whose best setting is not searched."""
    return [
        BaselineRow(
            WORLDS,
            "drawn",
            row["scenario"],
            None,
            {policy: each["vs_default"] for policy, each in row["policies"].items()},
        )
        for row in document["rows"]
    ]


def _static(document: Document) -> Iterator[tuple[str, float, Mapping[str, float]]]:
    for row in document["rows"]:
        name, default = row["workload"], row["default_mbps"]
        mine = {policy: each["mbps"][name] / default for policy, each in document["policies"].items()}
        yield name, row["best_static_mbps"] / default, mine


def _dynamic(document: Document) -> Iterator[tuple[str, float, Mapping[str, float]]]:
    for row in document["rows"]:
        case = f"{row['list']}, {row['phase']}: {row['workload']}"
        yield case, *_against(row["default_mbps"], row["ceiling_mbps"], row["policies"])


def _interference(document: Document) -> Iterator[tuple[str, float, Mapping[str, float]]]:
    for one in document["lists"]:
        rates = {policy: each["mbps"] for policy, each in one["policies"].items() if policy != "default"}
        yield one["list"], *_against(one["default_mbps"], one["ceiling_mbps"], rates)


def _applications(document: Document) -> Iterator[tuple[str, float, Mapping[str, float]]]:
    for row in document["rows"]:
        spent = {label: each["seconds"] for label, each in row["times"].items()}
        ratios = {label: spent["default"] / seconds for label, seconds in spent.items()}
        yield (
            row["workload"],
            ratios[BEST_STATIC],
            {policy: ratios[policy] for policy in document["policies"]},
        )


def _independent(document: Document) -> Iterator[tuple[str, float, Mapping[str, float]]]:
    for row in document["rows"]:
        both = {label: math.sqrt(each["write"] * each["read"]) for label, each in row["vs_default"].items()}
        mine = {policy: both[policy] for policy in document["policies"]}
        yield row["workload"], both[independent.CEILING], mine


def _against(default: float, ceiling: float, rates: Mapping[str, float]) -> tuple[float, Mapping[str, float]]:
    return ceiling / default, {policy: rate / default for policy, rate in rates.items()}


SETS: Mapping[str, BaselineSet] = {
    "static": BaselineSet(NAMES, _static),
    "dynamic": BaselineSet(tuple(AUTHORS_SEQUENCES), _dynamic),
    "interference": BaselineSet(tuple(AUTHORS_LISTS), _interference),
    "applications": BaselineSet(applications.NAMES, _applications),
    "independent": BaselineSet(tuple(independent.PAIRS), _independent),
}


def summary_table(rows: Sequence[BaselineRow], policies: Sequence[str]) -> Table:
    """Every set on every cluster: the geometric mean over its cases, and the worst case."""
    lines = []
    for (name, cluster), cases in _grouped(rows).items():
        means = [
            f"{geomean(case.policies[policy] for case in cases):.2f} "
            f"({min(case.policies[policy] for case in cases):.2f})"
            for policy in policies
        ]
        ceilings = [case.ceiling for case in cases if case.ceiling is not None]
        ceiling = f"{geomean(ceilings):.2f}" if ceilings else "-"
        lines.append([name, cluster, str(len(cases)), ceiling, *means])
    return Table(
        ["set", "cluster", "cases", "ceiling", *(f"{each}, mean (worst)" for each in policies)], lines
    )


def tables(rows: Sequence[BaselineRow], policies: Sequence[str]) -> list[Section]:
    """One section for every set on every cluster, one line a case."""
    return [
        Section(
            f"{name} ({cluster})",
            (),
            (),
            [
                Table(
                    ["case", "ceiling", *policies],
                    [
                        [case.case, _ratio(case.ceiling), *(_ratio(case.policies[policy]) for policy in policies)]
                        for case in cases
                    ],
                )
            ],
        )
        for (name, cluster), cases in _grouped(rows).items()
    ]  # fmt: skip


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _grouped(rows: Sequence[BaselineRow]) -> dict[tuple[str, str], list[BaselineRow]]:
    groups: dict[tuple[str, str], list[BaselineRow]] = {}
    for row in rows:
        groups.setdefault((row.set, row.cluster), []).append(row)
    return groups
