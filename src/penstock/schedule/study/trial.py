"""Runs many methods on one generated set. Each leaves a row of figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from penstock.errors import UsageError
from penstock.schedule.allocation import ALLOCATORS, Allocation, Sharing
from penstock.schedule.application import ApplicationSet
from penstock.schedule.demand import demands_of, io_load
from penstock.schedule.family import assumed_curve, fit_families
from penstock.schedule.generator import Scenario, generate
from penstock.schedule.placement import PLACERS
from penstock.schedule.profile import Profile
from penstock.schedule.simulation import play

HALF_WIDTH = 0.025
"""A set belongs to the point nearest to its least I/O-load; points lie twice this far apart."""
MOST_DRAWS = 400


@dataclass(frozen=True, slots=True, order=True)
class Method:
    """An allocator, a placer, and whether they see the real curves or only the family of each curve."""

    allocation: str
    placement: str = "greedy-non-clairvoyant"
    knowledge: str = "exact"

    def __str__(self) -> str:
        suffix = "" if self.knowledge == "exact" else f" ({self.knowledge})"
        return f"{self.allocation} + {self.placement}{suffix}"


@dataclass(frozen=True, slots=True)
class TrialRow:
    """The result of one method on one set."""

    point: float
    index: int
    least_load: float
    method: Method
    mean_io_slowdown: float
    max_io_slowdown: float
    slowdown_allocation: float
    io_spread: float
    machine_idle_time: float

    @property
    def slowdown_congestion(self) -> float:
        """The part of the mean slowdown that comes from others."""
        return self.mean_io_slowdown - self.slowdown_allocation


def draw_set(
    profiles: Sequence[Profile], applications: int, point: float, rng: Random
) -> tuple[ApplicationSet, float]:
    """A set whose least I/O-load is close to the point, and that load."""
    load, most = point, 0.98 * applications / Scenario(1, 0.01).resources
    for _ in range(MOST_DRAWS):
        scenario = Scenario(applications, min(load, most))
        workload = generate(scenario, profiles, rng)
        demands = demands_of(workload)
        least = io_load(demands, [demand.n_sys for demand in demands], workload.resources)
        if abs(least - point) <= HALF_WIDTH:
            return workload, least
        # The drawn load varies around its expectation, which is above the least load, so the aim is corrected.
        load *= (point / least) ** 0.25
    raise UsageError(
        f"--applications {applications}: too few for an I/O-load of {point:g} on {Scenario(1, 0.01).resources} "
        f"resources: no set of {MOST_DRAWS} comes near it"
    )


def try_methods(
    workload: ApplicationSet, methods: Sequence[Method], profiles: Sequence[Profile], rng: Random
) -> dict[Method, dict[str, float]]:
    """Every method on one set, measured until the first application ends (section V-D)."""
    demands = demands_of(workload)
    seen = {"exact": Sharing(workload.resources, workload.compute_nodes, demands)}
    if any(method.knowledge == "family" for method in methods):
        assumed = assume_families(workload, profiles)
        seen["family"] = Sharing(workload.resources, workload.compute_nodes, demands_of(assumed))
    allocated: dict[tuple[str, str], Allocation] = {}
    results = {}
    for method in methods:
        key = (method.allocation, method.knowledge)
        if key not in allocated:
            allocated[key] = ALLOCATORS[method.allocation]().allocate(seen[method.knowledge], rng)
        allocation = allocated[key]
        placement = allocation.placement
        if placement is None:
            placer = PLACERS[method.placement]()
            placement = placer.place(seen[method.knowledge], allocation.counts, rng)
        outcome = play(workload, demands, placement, "first")
        results[method] = {
            "mean_io_slowdown": outcome.mean_io_slowdown,
            "max_io_slowdown": outcome.max_io_slowdown,
            "slowdown_allocation": outcome.mean_allocation,
            "io_spread": outcome.io_spread,
            "machine_idle_time": outcome.machine_idle_time,
        }
    return results


def assume_families(workload: ApplicationSet, profiles: Sequence[Profile]) -> ApplicationSet:
    """The set as seen by someone who knows only the families, fitted to `profiles`."""
    families = fit_families(profiles)
    assumed = (replace(one, curve=assumed_curve(one.curve, families)) for one in workload.applications)
    return replace(workload, applications=tuple(assumed))
