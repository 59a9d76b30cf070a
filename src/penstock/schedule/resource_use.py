"""The use of the resources by running jobs, and what each count would mean for the next one."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.errors import DataError
from penstock.schedule.demand import Demand, fits
from penstock.schedule.sharing import HeldShare, Sharing


@dataclass(frozen=True, slots=True)
class Option:
    """A number of resources for the next job and its cost, in compute nodes that are idle on average."""

    count: int
    io_share: float
    slowdown: float
    own_idle_nodes: float
    others_idle_nodes: float
    io_load: float

    @property
    def idle_nodes(self) -> float:
        """Idle nodes of the whole machine."""
        return self.own_idle_nodes + self.others_idle_nodes


class Occupancy:
    """The use of the resources by running jobs: load, number of users, and which job uses which resource."""

    def __init__(
        self,
        resources: int,
        running: Sequence[HeldShare],
        unusable: Collection[int] = (),
        measured: Mapping[int, float] | None = None,
    ) -> None:
        sharing = Sharing(resources, 1, (), running, measured or {})
        self.resources = resources
        self.running = list(running)
        self.measured = dict(measured or {})
        self.load = sharing.load()
        self.users = sharing.users()
        self.jobs: list[list[int]] = [[] for _ in range(resources)]
        self.weights = [_weight(one) for one in running]
        for index, one in enumerate(running):
            for resource in one.resources:
                self.jobs[resource].append(index)
        self._closed = set(unusable)
        self.usable = [resource for resource in range(resources) if resource not in self._closed]
        self._keys = list(zip(self.load, self.users, strict=True))
        self._order: list[int] | None = None
        if not self.usable:
            raise DataError("unusable: names every resource of the platform")

    def copy(self) -> Occupancy:
        """The same occupancy, to be changed on its own."""
        return Occupancy(self.resources, self.running, self._closed, self.measured)

    @property
    def order(self) -> list[int]:
        """The resources that may be given away, the least occupied first."""
        if self._order is None:
            # Sorting is stable, so that of equal resources the lowest id comes first.
            self._order = sorted(self.usable, key=self._keys.__getitem__)
        return self._order

    def add(self, job: HeldShare) -> None:
        """Count in one more job, on its resources."""
        self.running.append(job)
        self.weights.append(_weight(job))
        share = job.io_share
        for resource in job.resources:
            self.load[resource] += share
            self.users[resource] += 1
            self.jobs[resource].append(len(self.running) - 1)
            self._keys[resource] = (self.load[resource], self.users[resource])
        self._order = None

    @property
    def io_load(self) -> float:
        """Mean load of a resource."""
        return sum(self.load) / self.resources


def _weight(job: HeldShare) -> float:
    return job.compute_nodes * job.io_share * (1 - job.io_share)


def options_of(occupancy: Occupancy, demand: Demand) -> Iterator[Option]:
    """Every legal count, on the least occupied resources."""
    touched: set[int] = set()
    weight = 0.0
    before = occupancy.io_load
    for count, resource in enumerate(occupancy.order[: demand.limit], 1):
        for index in occupancy.jobs[resource]:
            if index not in touched:
                touched.add(index)
                weight += occupancy.weights[index]
        load = before + demand.stress[count] / occupancy.resources
        yield _option(demand, count, occupancy.load[resource], weight, load)


def option_on(occupancy: Occupancy, demand: Demand, resources: Sequence[int]) -> Option:
    """The option of just these resources."""
    count = len(resources)
    touched = {index for resource in resources for index in occupancy.jobs[resource]}
    weight = math.fsum(occupancy.weights[index] for index in touched)
    load = occupancy.io_load + demand.stress[count] / occupancy.resources
    return _option(demand, count, max(occupancy.load[resource] for resource in resources), weight, load)


def _option(demand: Demand, count: int, crowd: float, weight: float, io_load: float) -> Option:
    """`crowd` is the load of the most occupied resource, `weight` that of the jobs on the resources."""
    crowded_s = demand.io_s[count] * (1 + crowd)
    share = crowded_s / (demand.compute_s + crowded_s)
    return Option(
        count=count,
        io_share=share,
        slowdown=crowded_s / demand.io_s[demand.n_perf],
        own_idle_nodes=demand.compute_nodes * share,
        others_idle_nodes=weight * demand.io_ratio(count),
        io_load=io_load,
    )


def fewest_idle(options: Sequence[Option]) -> Option:
    """The option with the fewest idle nodes, then the smallest count."""
    return min(options, key=lambda option: (option.idle_nodes, option.count))


def bearable(
    options: Sequence[Option], occupancy: Occupancy, worst_slowdown: float = math.inf
) -> tuple[list[Option], bool]:
    """The options that neither saturate the system nor slow anybody down too much, and whether there are any."""
    calm = [option for option in options if fits(option.io_load)] or list(options)
    if math.isinf(worst_slowdown):
        return calm, True
    worst = {option.count: max(option.slowdown, _others_worst(option, occupancy)) for option in calm}
    held = [option for option in calm if worst[option.count] <= worst_slowdown]
    if held:
        return held, True
    return [min(calm, key=lambda option: (worst[option.count], option.count))], False


def _others_worst(option: Option, occupancy: Occupancy) -> float:
    """The largest slowdown of a running job whose resources the option would use."""
    taken = set(occupancy.order[: option.count])
    worst = 1.0
    for one in occupancy.running:
        if not taken & set(one.resources):
            continue
        crowd = max(
            occupancy.load[r] - one.io_share + (option.io_share if r in taken else 0.0) for r in one.resources
        )
        worst = max(worst, (1 + max(crowd, 0.0)) * one.slowdown)
    return worst
