"""A job as a site knows it. Often less is known than the model of an application needs."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.schedule.application import Application, Curve, Phase
from penstock.schedule.belief import CurveBelief
from penstock.schedule.demand import Demand, demand_of

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
        """What is known, as a set of the words that `guide` uses."""
        facts = {"nodes"}
        if self.io_bytes is not None:
            facts.add("volume")
        if self.compute_s is not None:
            facts.add("compute")
        if self.curve is not None:
            facts.add("curve")
        if self.best_count is not None:
            facts.add("best-count")
        return frozenset(facts)

    def demand(self, resources: int) -> Demand | None:
        """Its demand on a platform with `resources`, or None if too little is known."""
        if self.curve is None or self.compute_s is None or self.io_bytes is None:
            return None
        phases = (Phase(self.compute_s, self.io_bytes),)
        return demand_of(Application(self.name, self.compute_nodes, self.curve, phases), resources)

    @property
    def io_share(self) -> float:
        """The share of its congestion-free run time that it spends in I/O on its own resources."""
        if self.curve is None or self.compute_s is None or self.io_bytes is None:
            return USUAL_IO_SHARE
        io_s = self.io_bytes / self.curve.at(max(len(self.resources), 1))
        return io_s / (self.compute_s + io_s) if io_s > 0 else 0.0
