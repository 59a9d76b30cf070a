"""The use of the resources by running jobs, and what each count would mean for the next one."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from penstock.errors import DataError
from penstock.schedule.demand import Demand, fits
from penstock.schedule.sharing import HeldShare, Sharing


class Option(NamedTuple):
    """A number of resources for the next job and its cost, in compute nodes that are idle on average.

    A decision makes one for each count, and a tuple is made almost four times faster than a dataclass.
    """

    count: int  # type: ignore[assignment] # hides tuple.count, which nobody needs
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
        self._shares = [one.io_share for one in running]
        for index, one in enumerate(running):
            for resource in one.resources:
                self.jobs[resource].append(index)
        self._held = len(self.running)
        self._held_load = tuple(self.load)
        self._closed = set(unusable)
        self.usable = [resource for resource in range(resources) if resource not in self._closed]
        # Of equally occupied resources the lowest id comes first.
        self._order = sorted(map(self._key, self.usable))
        if not self.usable:
            raise DataError("unusable: names every resource of the platform")

    def copy(self) -> Occupancy:
        """The same occupancy, to be changed on its own."""
        return Occupancy(self.resources, self.running, self._closed, self.measured)

    def idlest(self, count: int) -> tuple[int, ...]:
        """As many of the resources that may be given away, the least occupied first."""
        return tuple(resource for _, _, resource in self._order[:count])

    def add(self, job: HeldShare) -> int:
        """Count in one more job, on its resources. The number stands for it in `take` and `put`."""
        self.add_all([job])
        return len(self.running) - 1

    def add_all(self, jobs: Sequence[HeldShare]) -> None:
        """Count in more jobs, on their resources. With many of them that is faster than one after the other."""
        touched: dict[int, None] = {}
        for index, job in enumerate(jobs, len(self.running)):
            self.running.append(job)
            self.weights.append(_weight(job))
            self._shares.append(job.io_share)
            for resource in job.resources:
                self.jobs[resource].append(index)
                touched[resource] = None
        for resource in touched:
            self._reckon(resource)

    def take(self, index: int) -> None:
        """Count out a job that was added, until it is put on resources again."""
        for resource in self.running[index].resources:
            self.jobs[resource].remove(index)
            self._reckon(resource)

    def put(self, index: int, job: HeldShare) -> None:
        """Count in a job that was taken out, on its resources."""
        self.running[index] = job
        self.weights[index], self._shares[index] = _weight(job), job.io_share
        for resource in job.resources:
            self.jobs[resource].append(index)
            self._reckon(resource)

    def _reckon(self, resource: int) -> None:
        """The load of a resource. It is summed anew, so that it does not depend on who came and went."""
        key = self._key(resource)
        shares = math.fsum(self._shares[index] for index in self.jobs[resource] if index >= self._held)
        self.load[resource] = self._held_load[resource] + shares
        self.users[resource] = len(self.jobs[resource])
        if resource not in self._closed:
            del self._order[bisect_left(self._order, key)]
            insort(self._order, self._key(resource))

    def _key(self, resource: int) -> tuple[float, int, int]:
        return self.load[resource], self.users[resource], resource

    @property
    def io_load(self) -> float:
        """Mean load of a resource."""
        return sum(self.load) / self.resources


def _weight(job: HeldShare) -> float:
    share = job.io_share
    return job.compute_nodes * share * (1 - share)


def options_of(occupancy: Occupancy, demand: Demand) -> Iterator[Option]:
    """Every legal count, on the least occupied resources."""
    touched: set[int] = set()
    weight = 0.0
    before = occupancy.io_load
    for count, resource in enumerate(occupancy.idlest(demand.limit), 1):
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
    own, others = demand.compute_nodes * share, weight * demand.stress[count] / count
    return Option(count, share, crowded_s / demand.io_s[demand.n_perf], own, others, io_load)


def fewest_idle(options: Sequence[Option]) -> Option:
    """The option with the fewest idle nodes; on a tie the fastest, then the smallest count.

    The nodes of a job that computes nothing are idle at every count.
    """
    return min(options, key=lambda option: (option.idle_nodes, option.slowdown, option.count))


def bearable(
    options: Sequence[Option], occupancy: Occupancy, worst_slowdown: float = math.inf
) -> tuple[list[Option], bool]:
    """The options that neither saturate the system nor slow anybody down too much, and whether there are any."""
    calm = [option for option in options if fits(option.io_load)] or list(options)
    if math.isinf(worst_slowdown):
        return calm, True
    others = _others_worst(options, occupancy)
    worst = {option.count: max(option.slowdown, others[option.count - 1]) for option in calm}
    held = [option for option in calm if worst[option.count] <= worst_slowdown]
    if held:
        return held, True
    return [min(calm, key=lambda option: (worst[option.count], option.count))], False


def _others_worst(options: Sequence[Option], occupancy: Occupancy) -> list[float]:
    """For each count the largest slowdown of a running job whose resources it would use.

    Resources are taken in the order of their loads. So the last one taken of a job's is the most loaded of them, and
    as long as one is left, the most loaded of all its resources is among those that are left.
    """
    import numpy as np

    running, load = occupancy.running, occupancy.load
    share = np.array([one.io_share for one in running])
    alone = np.array([one.slowdown for one in running])
    left = np.array([len(one.resources) for one in running])
    most = np.array([max((load[r] for r in one.resources), default=0.0) for one in running])
    taken = np.full(len(running), -math.inf)
    worst = []
    for option, resource in zip(options, occupancy.idlest(len(options)), strict=True):
        users = occupancy.jobs[resource]
        taken[users] = load[resource]
        left[users] -= 1
        crowd = np.maximum(taken + option.io_share, np.where(left > 0, most, -math.inf)) - share
        slow = np.where(np.isinf(taken), 1.0, (1 + np.maximum(crowd, 0.0)) * alone)
        worst.append(float(slow.max(initial=1.0)))
    return worst
