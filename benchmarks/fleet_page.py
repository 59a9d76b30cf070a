"""The tables of docs/explanation/fleet-learning.md, from the runs of `benchmarks.fleet`."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.made_part import replace_part

from penstock.decide.guard import GuardLimits

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "fleet-learning.md"
#: The goals are about this case.
GOAL_CLIENTS, GOAL_WORKLOADS = 100, "s_rd_rn_1m"
MOST_PRICE, MOST_SINCE_PROOF_S, LEAST_CLIENT = 1 / 20, 60.0, 0.97
# The guard's bound is a share of any ten minutes of work.
GUARDED_S = 600.0

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """One arm of one case: means over seeds; the worst client is the least mean of any."""

    clients: int
    workloads: str
    seconds: float
    arm: str
    seeds: int
    rows: tuple[Row, ...]

    def mean(self, name: str) -> float | None:
        """None where a seed has no such figure."""
        values = [row[name] for row in self.rows]
        return None if any(value is None for value in values) else statistics.fmean(values)

    def known(self, name: str) -> float:
        """A figure that every row has."""
        return statistics.fmean(row[name] for row in self.rows)


def write(rows: Sequence[Row], page: Path = PAGE) -> str:
    """Put the tables of these runs into the page; answers the table of goals."""
    found = list(arms(rows))
    replace_part(page, "runs", runs_table(found))
    goals = goals_table(found)
    replace_part(page, "goals", goals)
    return goals


def arms(rows: Sequence[Row]) -> Iterator[ArmFigures]:
    """The runs that differ in nothing but their seed, together; in the order of clients."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["workloads"], row["clients"], row["seconds"], row["arm"]), []).append(row)
    order = {arm: at for at, arm in enumerate(dict.fromkeys(row["arm"] for row in rows))}
    for key in sorted(groups, key=lambda one: (*one[:3], order[one[3]])):
        workloads, clients, seconds, arm = key
        group = tuple(groups[key])
        yield ArmFigures(clients, workloads, seconds, arm, len({row["seed"] for row in group}), group)


def runs_table(found: Sequence[ArmFigures]) -> str:
    heads = (
        "work", "clients", "s", "seeds", "arm", "price, s", "dearest node, s (of the run)", "90 % near the best, s",
        "since the proof, s", "near at the end", "throughput", "of its last 10 s", "worst client", "fairness", "best",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for one in found:
        cells = (
            one.workloads, str(one.clients), f"{one.seconds:.0f}", str(one.seeds), one.arm,
            f"{one.known('price_s'):.2f}", _of_run(max(row["worst_price_s"] for row in one.rows), one.seconds),
            _seconds(one.mean("near_s")), _seconds(one.mean("near_since_proof_s")),
            f"{one.known('near_at_end'):.2f}", f"{one.known('throughput'):.3f}", f"{one.known('at_end'):.3f}",
            f"{one.known('worst_client'):.3f}", f"{one.known('fairness'):.3f}", f"{one.known('oracle'):.3f}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def goals_table(found: Sequence[ArmFigures]) -> str:
    lines = [
        f"| of {GOAL_CLIENTS} clients, one job of random readers | wanted | measured | met |",
        "|---|---|---|---|",
    ]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in _goals(found))])


def _goals(found: Sequence[ArmFigures]) -> Iterator[tuple[str, str, str, str]]:
    cases = [one for one in found if (one.clients, one.workloads) == (GOAL_CLIENTS, GOAL_WORKLOADS)]
    for seconds in sorted({one.seconds for one in cases}):
        by_arm = {one.arm: one for one in cases if one.seconds == seconds}
        for arms_needed, goal in _GOALS:
            if all(arm in by_arm for arm in arms_needed):
                what, wanted, measured, met = goal(by_arm)
                yield f"{what}, {seconds:.0f} s", wanted, measured, "yes" if met else "**no**"


_Goal = tuple[str, str, str, bool]


def _headroom(by_arm: Mapping[str, ArmFigures]) -> _Goal:
    best = by_arm["shared"].known("oracle")
    return "head-room: the best setting on all nodes", "about 1.5", f"{best:.2f}", best >= 1.4


def _price(by_arm: Mapping[str, ArmFigures]) -> _Goal:
    alone, shared = (by_arm[arm].known("price_s") for arm in ("alone", "shared"))
    measured = (
        f"{shared:.2f} s of {alone:.2f} s: {shared / alone:.3f}" if alone else f"{shared:.2f} s of none"
    )
    return "fleet price, of everyone-alone's", "<= 1/20", measured, shared <= MOST_PRICE * alone


def _soon(by_arm: Mapping[str, ArmFigures]) -> _Goal:
    since = by_arm["shared"].mean("near_since_proof_s")
    measured = "not within the run" if since is None else f"{since:.1f} s"
    met = since is not None and since <= MOST_SINCE_PROOF_S
    return "90 % of nodes at .95 of the best, since the first proof", "<= 60 s", measured, met


def _worst(by_arm: Mapping[str, ArmFigures]) -> _Goal:
    worst = by_arm["shared"].known("worst_client")
    return "worst node, of the default", f">= {LEAST_CLIENT}", f"{worst:.3f}", worst >= LEAST_CLIENT


def _lied_to(by_arm: Mapping[str, ArmFigures]) -> _Goal:
    price = GuardLimits().price
    lost_s = max(row["worst_price_s"] for row in by_arm["lying"].rows)
    measured = f"{lost_s:.2f} s: {lost_s / GUARDED_S:.2%}"
    wanted = f"<= {price:.0%} of ten minutes"
    return (
        "with a liar, what the dearest node of any seed paid",
        wanted,
        measured,
        lost_s <= price * GUARDED_S,
    )


_GOALS: tuple[tuple[tuple[str, ...], Callable[[Mapping[str, ArmFigures]], _Goal]], ...] = (
    (("shared",), _headroom),
    (("alone", "shared"), _price),
    (("shared",), _soon),
    (("shared",), _worst),
    (("lying",), _lied_to),
)


def _of_run(lost_s: float, seconds: float) -> str:
    return f"{lost_s:.2f} ({lost_s / seconds:.1%})"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
