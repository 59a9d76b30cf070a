"""Advice for the next job: how many resources, which ones, and why. Running jobs are not moved."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.errors import DataError
from penstock.schedule.certainty import Certainty, Stakes, choose, fastest
from penstock.schedule.demand import Demand, fits
from penstock.schedule.guide import implied
from penstock.schedule.job import Job


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


@dataclass(frozen=True, slots=True)
class Advice:
    """The number of resources, their ids, the rule that chose them, and why.

    `options` is empty if too little is known to compare counts.
    """

    job: str
    rule: str
    resources: tuple[int, ...]
    io_load_before: float
    io_load_after: float
    options: tuple[Option, ...]
    reason: str
    certainty: Certainty | None = None


class Occupancy:
    """The use of the resources by running jobs: load, number of users, and which job uses which resource."""

    def __init__(
        self,
        resources: int,
        running: Sequence[Job],
        unusable: Collection[int] = (),
        measured: Mapping[int, float] | None = None,
    ) -> None:
        self.resources = resources
        self.running = tuple(running)
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
        for resource, load in (measured or {}).items():
            # Use by anything else shows only in the measured load.
            self.load[resource] = max(self.load[resource], load)
        closed = set(unusable)
        usable = (resource for resource in range(resources) if resource not in closed)
        self.order = sorted(usable, key=lambda one: (self.load[one], self.users[one], one))
        if not self.order:
            raise DataError("unusable: names every resource of the platform")

    @property
    def io_load(self) -> float:
        """Mean load of a resource."""
        return sum(self.load) / self.resources


def advise(occupancy: Occupancy, job: Job, compute_nodes: int, worst_slowdown: float = math.inf) -> Advice:
    """The best resources for `job`, by the best rule that the available information allows.

    A count that slows the job or any running job down by more than `worst_slowdown` is left out, unless all counts
    do.
    """
    demand = job.demand(occupancy.resources)
    if demand is not None and demand.io_bytes > 0:
        options = tuple(_options(occupancy, demand))
        legal, held = _within(options, occupancy, job, worst_slowdown)
        certainty = _certainty(occupancy, job, demand, legal)
        chosen = _best(legal) if certainty is None else options[certainty.count - 1]
        reason = _reason(job, demand, chosen, options)
        if not held:
            reason += f"; no count keeps everybody within {worst_slowdown:g} times their fastest"
        advice = _advice(occupancy, job, ("balance", chosen.count, reason), options)
        return replace(advice, certainty=certainty)
    facts = implied(job.known)
    most = len(occupancy.order)
    if demand is not None:
        return _advice(occupancy, job, ("balance", 1, f"{job.name} moves no bytes: one resource will do"), ())
    if job.belief is not None and job.curve is None and job.best_count is None:
        likely = fastest(job.belief, most)
        reason = f"jobs that access files as {job.name} does are mostly fastest on {likely.count}"
        return replace(_advice(occupancy, job, ("bestbdw", likely.count, reason), ()), certainty=likely)
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
    """The fewest idle nodes."""
    return min(options, key=lambda option: (option.idle_nodes, option.count))


def _within(
    options: Sequence[Option], occupancy: Occupancy, job: Job, worst_slowdown: float
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
        if one.curve is None or not taken & set(one.resources):
            continue
        share = one.io_share
        crowd = max(
            occupancy.load[r] - share + (option.io_share if r in taken else 0.0) for r in one.resources
        )
        fastest = max(one.curve.up_to(occupancy.resources))
        worst = max(worst, (1 + max(crowd, 0.0)) * fastest / one.curve.at(len(one.resources)))
    return worst


def _certainty(occupancy: Occupancy, job: Job, demand: Demand, legal: Sequence[Option]) -> Certainty | None:
    """The choice under an uncertain curve, or None if the curve was measured."""
    if job.belief is None:
        return None
    width = min(demand.limit, len(occupancy.order))
    crowd = tuple(occupancy.load[occupancy.order[count]] for count in range(width))
    met: set[int] = set()
    others = []
    for resource in occupancy.order[:width]:
        met.update(occupancy.jobs[resource])
        others.append(math.fsum(occupancy.weights[index] for index in met))
    stakes = Stakes(job.compute_nodes, demand.compute_s, demand.io_bytes, crowd, tuple(others))
    return choose(job.belief, stakes, [option.count for option in legal])


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
