"""A job as a site knows it. Often less is known than the model of an application needs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from penstock.schedule.application import Application, Curve, Phase
from penstock.schedule.belief import CurveBelief
from penstock.schedule.demand import Demand, demand_of
from penstock.schedule.sharing import HeldShare

USUAL_IO_SHARE = 0.1
"""Assumed of a job of which nothing is known: most jobs spend only a small part of their time in I/O."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is known of a job; None means unknown. A running job has `resources`."""

    name: str
    compute_nodes: int
    compute_s: float | None = None
    io_bytes: float | None = None
    curve: Curve | None = None
    best_count: int | None = None
    belief: CurveBelief | None = None
    """What is believed of a curve that was not measured in full; `curve` then is its median."""
    resources: tuple[int, ...] = ()
    directory: str | None = None
    uid: int | None = None
    gid: int | None = None
    """Whose rights commands on its directory run with; None: those of whoever runs them."""
    pool: str | None = None
    applied: str | None = None
    """In which way its start changed its directory's layout; None where nothing was changed."""

    @property
    def known(self) -> frozenset[str]:
        """What is known, as a set of the words that `guide` uses. A class tells where such jobs are fastest."""
        facts = {"nodes"}
        if self.io_bytes is not None:
            facts.add("volume")
        if self.compute_s is not None:
            facts.add("compute")
        if self.curve is not None:
            facts |= {"curve", "best-count"}
        if self.best_count is not None or self.belief is not None:
            facts.add("best-count")
        return frozenset(facts)

    def demand(self, resources: int) -> Demand | None:
        """Its demand on a platform with `resources`, or None if too little is known."""
        if self.curve is None or self.compute_s is None or self.io_bytes is None:
            return None
        phases = (Phase(self.compute_s, self.io_bytes),)
        return demand_of(Application(self.name, self.compute_nodes, self.curve, phases), resources)

    def known_demand(self, resources: int, best_count: int | None) -> Demand:
        """As much of its demand as is known: NaN for times and volume, if those are not.

        `best_count` is the count at which it is taken to be fastest, if it has no curve.
        """
        whole = self.demand(resources)
        if whole is not None:
            return whole
        curve = self.curve or Curve((1, resources), (1.0, 1.0))
        shape = demand_of(Application(self.name, self.compute_nodes, curve, (Phase(1.0, 1.0),)), resources)
        unknown = (math.nan,) * len(shape.bandwidth)
        return replace(
            shape,
            compute_s=math.nan,
            io_bytes=math.nan,
            io_s=unknown,
            stress=unknown,
            cpu_load=unknown,
            n_perf=shape.n_perf if self.curve else min(best_count or 1, resources),
        )

    @property
    def io_share(self) -> float:
        """The share of its congestion-free run time that it spends in I/O on its own resources."""
        if self.curve is None or self.compute_s is None or self.io_bytes is None:
            return USUAL_IO_SHARE
        io_s = self.io_bytes / self.curve.at(max(len(self.resources), 1))
        return io_s / (self.compute_s + io_s) if io_s > 0 else 0.0

    def held(self, platform: int) -> HeldShare:
        """The job as it runs on its resources, on a platform with so many."""
        count = max(len(self.resources), 1)
        share = self.io_share
        fastest = 1.0 if self.curve is None else self.curve.highest(platform) / self.curve.at(count)
        return HeldShare(self.compute_nodes, 1 - share, share, fastest, count, self.resources)
