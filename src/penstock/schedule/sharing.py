"""What a rule decides upon: the platform, the applications to be served, and those that already run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.schedule.demand import Demand


@dataclass(frozen=True, slots=True)
class HeldShare:
    """An application that already runs. It keeps its resources.

    `io_s` and `compute_s` need only have the right ratio. `slowdown` is that of its count, without congestion.
    `count` may be larger than the number of `resources`, if some of them take no new applications.
    """

    compute_nodes: int
    compute_s: float
    io_s: float
    slowdown: float
    count: int
    resources: tuple[int, ...]

    @property
    def io_share(self) -> float:
        """The share of its congestion-free run time that it spends in I/O."""
        return self.io_s / (self.io_s + self.compute_s) if self.io_s > 0 else 0.0

    @property
    def stress(self) -> float:
        """The resource time it asks for per unit of time."""
        return self.count * self.io_share


def held_at(demand: Demand, resources: tuple[int, ...]) -> HeldShare:
    """An application as it runs on its resources."""
    count = len(resources)
    slowdown = demand.bandwidth[demand.n_perf] / demand.bandwidth[count]
    return HeldShare(demand.compute_nodes, demand.compute_s, demand.io_s[count], slowdown, count, resources)


@dataclass(frozen=True, slots=True)
class Sharing:
    """The input of a rule: the platform and every application's demand, in file order.

    Resource ids are 0 .. resources - 1. `measured` is the load of resources as measured, if that is known.
    """

    resources: int
    compute_nodes: int
    demands: Sequence[Demand]
    held: Sequence[HeldShare] = ()
    measured: Mapping[int, float] = field(default_factory=dict)

    @property
    def held_stress(self) -> float:
        """The resource time that running applications ask for per unit of time."""
        return math.fsum(one.stress for one in self.held)

    def users(self) -> list[int]:
        """The number of running applications on each resource."""
        users = [0] * self.resources
        for one in self.held:
            for resource in one.resources:
                users[resource] += 1
        return users

    def load(self) -> list[float]:
        """The load of each resource by running applications, or as measured where that is more."""
        load = [0.0] * self.resources
        for one in self.held:
            share = one.io_share
            for resource in one.resources:
                load[resource] += share
        for resource, value in self.measured.items():
            # Use by anything else shows only in the measured load.
            load[resource] = max(load[resource], value)
        return load
