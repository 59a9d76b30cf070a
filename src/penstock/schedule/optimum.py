"""The exact optimum of a small set: every allocation and placement is simulated.

Resources are identical, so a placement is a multiset of resources, each described by its users. For a few
applications and resources that leaves few enough to try all. The optimum bounds what any heuristic can reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement

from penstock.errors import UsageError
from penstock.schedule.application import ApplicationSet
from penstock.schedule.demand import Demand, demands_of
from penstock.schedule.placement import Placement
from penstock.schedule.simulation import Outcome, Until, play

MOST_SCHEDULES = 500_000
Objective = Callable[[Outcome], float]
OBJECTIVES: Mapping[str, Objective] = {
    "slowdown": lambda outcome: outcome.mean_io_slowdown,
    "idle": lambda outcome: outcome.machine_idle_time,
}


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best schedule for one objective, among all `schedules`."""

    placement: Placement
    outcome: Outcome
    schedules: int


def count_schedules(applications: int, resources: int) -> int:
    """How many different schedules there are at most.

    >>> count_schedules(4, 4)
    3876
    """
    return math.comb(2**applications + resources - 1, resources)


def magnitude(applications: int, resources: int) -> float:
    """The decimal logarithm of `count_schedules`, without numbers of thousands of digits.

    >>> round(magnitude(4, 4), 2), round(magnitude(1000, 1008))
    (3.59, 300847)
    """
    # A product of `resources` factors (2^applications - 1 + i) / i.
    kinds = math.exp2(min(applications, 1000))
    beyond = max(applications - 1000, 0) * math.log(2)
    factors = (math.log(kinds - 1 + i) + beyond - math.log(i) for i in range(1, resources + 1))
    return math.fsum(factors) / math.log(10)


def optimise(workload: ApplicationSet, until: Until = "all") -> dict[str, Optimum]:
    """The optimum for each objective; refuses sets with more than half a million schedules."""
    applications, resources = len(workload.applications), workload.resources
    exponent = magnitude(applications, resources)
    if exponent > 12 or count_schedules(applications, resources) > MOST_SCHEDULES:
        raise UsageError(
            f"{applications} applications on {resources} resources have up to 10^{exponent:.0f} "
            f"schedules; the exact optimum is for at most {MOST_SCHEDULES}"
        )
    demands = demands_of(workload)
    best: dict[str, Optimum] = {}
    seen = 0
    for placement in _placements(demands, workload.resources):
        outcome = play(workload, demands, placement, until)
        seen += 1
        for name, objective in OBJECTIVES.items():
            if name not in best or objective(outcome) < objective(best[name].outcome) - 1e-12:
                best[name] = Optimum(placement, outcome, 0)
    return {name: Optimum(one.placement, one.outcome, seen) for name, one in best.items()}


def _placements(demands: tuple[Demand, ...], resources: int) -> Iterator[Placement]:
    """Every placement that gives each application a legal count, without permutations of equal resources."""
    applications = range(len(demands))
    for users in combinations_with_replacement(range(2 ** len(demands)), resources):
        placement = tuple(
            tuple(resource for resource, mask in enumerate(users) if mask >> index & 1)
            for index in applications
        )
        if all(1 <= len(placement[index]) <= demands[index].limit for index in applications):
            yield placement
