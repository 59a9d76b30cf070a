"""Advice for the next job: how many resources, which, and why, with everybody else left where they are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from penstock.errors import DataError
from penstock.schedule.application import Curve
from penstock.schedule.demand import Demand, fits
from penstock.schedule.guide import implied
from penstock.schedule.job import Job


@dataclass(frozen=True, slots=True)
class Option:
    """A number of resources for the next job and what it leads to, in compute nodes idle on average."""

    count: int
    io_share: float
    slowdown: float
    own_idle_nodes: float
    others_idle_nodes: float
    io_load: float

    @property
    def idle_nodes(self) -> float:
        """What the whole machine loses."""
        return self.own_idle_nodes + self.others_idle_nodes


@dataclass(frozen=True, slots=True)
class Advice:
    """How many and which, by which rule, and why; `options` is empty where too little is known to compare."""

    job: str
    rule: str
    resources: tuple[int, ...]
    io_load_before: float
    io_load_after: float
    options: tuple[Option, ...]
    reason: str


class Occupancy:
    """What the running jobs make of the resources: their load, their users, and who sits where."""

    def __init__(self, resources: int, running: Sequence[Job], unusable: Collection[int] = ()) -> None:
        self.resources = resources
        self.load = [0.0] * resources
        self.users = [0] * resources
        self.jobs: list[list[int]] = [[] for _ in range(resources)]
        self.weights: list[float] = []
        for index, job in enumerate(running):
            share = job.io_share
            self.weights.append(job.compute_nodes * share * (1 - share))
            for resource in job.resources:
                self.load[resource] += share
                self.users[resource] += 1
                self.jobs[resource].append(index)
        closed = set(unusable)
        usable = (resource for resource in range(resources) if resource not in closed)
        self.order = sorted(usable, key=lambda one: (self.load[one], self.users[one], one))
        if not self.order:
            raise DataError("unusable: names every resource of the platform")

    @property
    def io_load(self) -> float:
        """Mean load of a resource."""
        return sum(self.load) / self.resources


def advise(occupancy: Occupancy, job: Job, compute_nodes: int) -> Advice:
    """The best resources for `job`, by the best rule that what is known of it allows."""
    demand = job.demand(occupancy.resources)
    if demand is not None and demand.io_bytes > 0:
        options = tuple(_options(occupancy, demand))
        chosen = _best(options)
        reason = _reason(job, demand, chosen, options)
        return _advice(occupancy, job, ("balance", chosen.count, reason), options)
    facts = implied(job.known)
    most = len(occupancy.order)
    if demand is not None:
        return _advice(occupancy, job, ("balance", 1, f"{job.name} moves no bytes: one resource will do"), ())
    if "best-count" in facts:
        curve = job.curve
        best = job.best_count or (
            curve.counts[curve.bytes_per_s.index(max(curve.bytes_per_s))] if curve else 1
        )
        reason = f"{best} is where {job.name} is fastest; its volume and compute time are not known"
        return _advice(occupancy, job, ("bestbdw", min(best, most), reason), ())
    share = (2 * job.compute_nodes * occupancy.resources + compute_nodes) // (2 * compute_nodes)
    reason = f"only its size is known: {job.compute_nodes} of {compute_nodes} compute nodes"
    return _advice(occupancy, job, ("static", min(max(share, 1), most), reason), ())


def _fastest(curve: Curve) -> int:
    return curve.counts[curve.bytes_per_s.index(max(curve.bytes_per_s))]


def _options(occupancy: Occupancy, demand: Demand) -> Iterator[Option]:
    """Every legal count, on the least occupied resources."""
    touched: set[int] = set()
    weight = 0.0
    for count in range(1, min(demand.limit, len(occupancy.order)) + 1):
        resource = occupancy.order[count - 1]
        for index in occupancy.jobs[resource]:
            if index not in touched:
                touched.add(index)
                weight += occupancy.weights[index]
        crowded_s = demand.io_s[count] * (1 + occupancy.load[resource])
        share = crowded_s / (demand.compute_s + crowded_s)
        best_s = demand.io_s[demand.n_perf]
        yield Option(
            count=count,
            io_share=share,
            slowdown=crowded_s / best_s,
            own_idle_nodes=demand.compute_nodes * share,
            others_idle_nodes=weight * demand.io_ratio(count),
            io_load=occupancy.io_load + demand.stress[count] / occupancy.resources,
        )


def _best(options: Sequence[Option]) -> Option:
    """The fewest idle nodes among those that do not saturate the system, where there are such."""
    calm = [option for option in options if fits(option.io_load)] or list(options)
    return min(calm, key=lambda option: (option.idle_nodes, option.count))


def _advice(
    occupancy: Occupancy, job: Job, decision: tuple[str, int, str], options: tuple[Option, ...]
) -> Advice:
    rule, count, reason = decision
    chosen = tuple(sorted(occupancy.order[:count]))
    before = occupancy.io_load
    after = next((option.io_load for option in options if option.count == count), None)
    if after is None:
        demand = job.demand(occupancy.resources)
        share = count * job.io_share if demand is None else 0.0
        after = before + share / occupancy.resources
    where = "the idlest" if any(occupancy.users) else "all idle"
    tail = f"; of {occupancy.resources} resources these are {where}"
    return Advice(job.name, rule, chosen, before, after, options, reason + tail)


def _reason(job: Job, demand: Demand, chosen: Option, options: Sequence[Option]) -> str:
    parts = [
        f"on {chosen.count} {job.name} spends {100 * chosen.io_share:.1f} % of its life in I/O, "
        f"{chosen.slowdown:.2f} times its fastest, and others lose {chosen.others_idle_nodes:.2f} nodes"
    ]
    if chosen.count > 1:
        one = options[0]
        parts.append(f"on 1 it would be {100 * one.io_share:.1f} %")
    if chosen.count < demand.n_perf and demand.n_perf <= len(options):
        fast = options[demand.n_perf - 1]
        why = "saturate the system" if not fits(fast.io_load) else f"cost {fast.idle_nodes:.2f} nodes in all"
        parts.append(f"its fastest count, {demand.n_perf}, would {why}, not {chosen.idle_nodes:.2f}")
    return "; ".join(parts)
