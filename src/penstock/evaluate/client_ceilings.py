"""The settings that clients on shared OSTs are compared with: the best single one, and each client's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.evaluate.ceilings import Chosen, Climb, Place, climb, course_of, starts
from penstock.evaluate.lab import Lab
from penstock.simulate.assembly import Plan

#: Runs of a search last no longer than this.
SEARCH_S = 15.0


@dataclass(frozen=True, slots=True)
class ClientChoice:
    """What clients are held at: all at one setting, or each at its own."""

    places: tuple[Place, ...]
    single: Chosen
    own: Chosen


def search(lab: Lab, plans: Mapping[str, Plan], seconds: float) -> dict[str, ClientChoice]:
    """The settings with the highest total of all clients, chosen on another seed: first one for all, then, beginning
    there and at the default, one for each.
    """
    course = course_of(min(seconds, SEARCH_S))
    places = {name: _places(plan) for name, plan in plans.items()}
    one = climb(
        lab,
        {
            name: Climb(plan, (Place(writes=any(place.writes for place in places[name])),),
                        starts(plan.cluster, 1), course)
            for name, plan in plans.items()
        },
    )  # fmt: skip
    single = {name: one[name] * len(places[name]) for name in plans}
    own = climb(
        lab,
        {
            name: Climb(
                plan, places[name], (single[name], starts(plan.cluster, len(places[name]))[0]), course
            )
            for name, plan in plans.items()
        },
    )
    return {name: ClientChoice(places[name], single[name], own[name]) for name in plans}


def _places(plan: Plan) -> tuple[Place, ...]:
    return tuple(
        Place(client, writes=any(job.workload.read_ratio < 1 for job in plan.jobs if job.client == client))
        for client in range(plan.clients)
    )
