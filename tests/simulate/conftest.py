"""What the simulator's tests share: short runs at one setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.faults import Fault, parse_fault
from penstock.simulate.simulation import Simulation, Totals
from penstock.workload import Workload, parse_workload


@dataclass(frozen=True, slots=True)
class Lab:
    """Makes simulations from short descriptions."""

    def simulation(
        self,
        workload: Workload | str,
        setting: Setting | None = None,
        changes: Mapping[str, str] | None = None,
        seed: int = 1,
    ) -> Simulation:
        work = parse_workload(workload) if isinstance(workload, str) else workload
        cluster = builtin_cluster("c220g5").override(changes or {})
        made = Simulation(Plan(cluster, (Job(work),), 1, seed, traced=True))
        if setting is not None:
            made.set_all(setting)
        return made

    def cluster(
        self,
        jobs: Sequence[Job],
        setting: Setting | None = None,
        changes: Mapping[str, str] | None = None,
        events: Sequence[str] = (),
    ) -> Simulation:
        """Several clients on one OST, unless `changes` say otherwise."""
        description = builtin_cluster("c220g5").override({"ost_count": "1", **(changes or {})})
        clients = 1 + max(job.client for job in jobs)
        faults = self.faults(*events)
        made = Simulation(Plan(description, tuple(jobs), clients, 1, traced=True, faults=faults))
        if setting is not None:
            made.set_all(setting)
        return made

    def each(self, made: Simulation, seconds: float, warmup_s: float) -> list[Totals]:
        """What every client did after the warm-up."""
        clients = range(made.plan.clients)
        made.run_until(warmup_s)
        before = [made.totals(client) for client in clients]
        made.run_until(warmup_s + seconds)
        return [made.totals(client) - before[client] for client in clients]

    def measure(
        self,
        workload: Workload | str,
        setting: Setting | None = None,
        changes: Mapping[str, str] | None = None,
        seconds: float = 2.0,
        warmup_s: float = 1.0,
    ) -> Totals:
        made = self.simulation(workload, setting, changes)
        made.run_until(warmup_s)
        before = made.totals()
        made.run_until(warmup_s + seconds)
        return made.totals() - before

    def mbps(
        self,
        workload: Workload | str,
        setting: Setting | None = None,
        changes: Mapping[str, str] | None = None,
        seconds: float = 2.0,
        warmup_s: float = 1.0,
    ) -> float:
        return self.measure(workload, setting, changes, seconds, warmup_s).app_bytes / seconds / 1e6

    def faults(self, *events: str) -> tuple[Fault, ...]:
        return tuple(map(parse_fault, events))

    def workload(self, name: str, **changes: float) -> Workload:
        return replace(parse_workload(name), **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def lab() -> Lab:
    return Lab()
