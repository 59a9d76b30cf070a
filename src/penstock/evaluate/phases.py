"""Workloads that follow each other on one client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.evaluate.drivers import Switch
from penstock.evaluate.trial import WARMUP_S, Measured
from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import Cluster
from penstock.workload import parse_workload


@dataclass(frozen=True, slots=True)
class Phases:
    """Workloads that follow each other on one client, each for the same time."""

    cluster: Cluster
    workloads: tuple[str, ...]
    turns: int
    every_s: float

    @property
    def names(self) -> tuple[str, ...]:
        """All phases in order."""
        return self.workloads * self.turns

    @property
    def seconds(self) -> float:
        """How long it all lasts."""
        return self.every_s * len(self.names)

    @property
    def starts_s(self) -> tuple[float, ...]:
        """When each phase begins. The warm-up runs the first workload and is not part of its time."""
        return (0.0, *(WARMUP_S + number * self.every_s for number in range(1, len(self.names))))

    def plan(self, seed: int) -> Plan:
        osts = tuple(range(self.cluster.layout.ost_count))
        stops_s = (*self.starts_s[1:], WARMUP_S + self.seconds)
        jobs = tuple(
            Job(parse_workload(name), 0, start_s, stop_s, osts=osts)
            for name, start_s, stop_s in zip(self.names, self.starts_s, stops_s, strict=True)
        )
        return Plan(self.cluster, jobs, 1, seed)

    def switches(self, own: Sequence[Setting]) -> tuple[Switch, ...]:
        """Every phase at a setting of its own."""
        return tuple(Switch(each, start_s) for each, start_s in zip(own, self.starts_s, strict=True))

    def rates(self, measured: Measured) -> list[float]:
        """The mean rate of every phase."""
        return [measured.mean(i * self.every_s, (i + 1) * self.every_s) for i in range(len(self.names))]

    def shorter(self, most_s: float) -> Phases:
        """The same with phases of at most this length."""
        return self if self.every_s <= most_s else replace(self, turns=1, every_s=most_s)
