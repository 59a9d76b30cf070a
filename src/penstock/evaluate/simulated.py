"""Runs and response surfaces on the simulated cluster: a setting held, a policy at work, or all 99 settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from penstock.agent.loop import Loop, Ports, ticks
from penstock.evaluate.tuners import make_tuner
from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import Cluster
from penstock.simulate.probe import Probe
from penstock.simulate.protocol import Cell, hold, random_walk, recorded_interval_s, single
from penstock.simulate.simulation import Simulation, Totals
from penstock.spaces import LUSTRE
from penstock.units import GIB, PAGE_BYTES
from penstock.workload import Workload

INTERVAL_S = 0.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one client, or all together, achieved over the measured time."""

    seconds: float
    totals: Totals

    @property
    def figures(self) -> dict[str, float]:
        """The figures by the names users know; zero where nothing moved."""
        sums, seconds = self.totals, self.seconds
        pages = sums.rpc_bytes / PAGE_BYTES
        return {
            "app_mbps": sums.app_bytes / seconds / 1e6,
            "rpc_mbps": sums.rpc_bytes / seconds / 1e6,
            "rpcs": sums.rpcs,
            "pages_per_rpc": pages / sums.rpcs if sums.rpcs else 0.0,
            "rpcs_in_flight": sums.rpc_usec / seconds / 1e6,
            "page_latency_us": sums.rpc_usec / pages if pages else 0.0,
            "dirty_mb": sums.dirty_byte_seconds / seconds / 1e6,
        }


@dataclass(frozen=True, slots=True)
class Run:
    """A whole run: aggregates, each client, and what the knobs did."""

    total: Outcome
    clients: tuple[Outcome, ...]
    final: Setting
    changes: int
    events: int
    lost_bytes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Course:
    """How a run is driven: a setting held throughout, or a policy that starts when the warm-up ends."""

    seconds: float
    warmup_s: float
    setting: Setting | None = None
    policy: str | None = None


def cluster_plan(cluster: Cluster, workload: Workload, clients: int, seed: int) -> Plan:
    """Every client runs the same workload on files of its own."""
    return Plan(cluster, tuple(Job(workload, client) for client in range(clients)), clients, seed)


def run(plan: Plan, course: Course, progress: Callable[[float], None] = lambda _: None) -> Run:
    """Drive a simulated cluster through warm-up and measurement."""
    simulation = Simulation(plan)
    if course.setting is not None:
        simulation.set_all(course.setting)
    simulation.run_until(course.warmup_s)
    before = [simulation.totals(client) for client in range(plan.clients)]
    events = simulation.totals().events
    end_s = course.warmup_s + course.seconds
    changes = _tune(simulation, course.policy, end_s, progress) if course.policy is not None else 0
    for tenth in range(1, 11):
        until_s = end_s - course.seconds * (10 - tenth) / 10
        if until_s > simulation.now_s:
            simulation.run_until(until_s)
        progress(tenth / 10)
    each = tuple(simulation.totals(client) - before[client] for client in range(plan.clients))
    total = each[0]
    for one in each[1:]:
        total = total + one
    return Run(
        Outcome(course.seconds, total),
        tuple(Outcome(course.seconds, one) for one in each),
        simulation.setting(int(simulation.world.file.osc[0])),
        changes,
        simulation.totals().events - events,
        tuple(simulation.lost_bytes(client) for client in range(plan.clients)),
    )


def _tune(simulation: Simulation, policy: str, end_s: float, progress: Callable[[float], None]) -> int:
    start_s, loops = simulation.now_s, []
    for client in range(simulation.plan.clients):
        probe = Probe(simulation, client)
        tuner = make_tuner(policy, simulation.plan.seed, int(simulation.plan.cluster.client.ram_gb * GIB))
        loops.append(ticks(Loop(Ports(probe, probe, probe), tuner, INTERVAL_S)))
    changes = 0
    while simulation.now_s + INTERVAL_S <= end_s + 1e-9:
        for loop in loops:
            changes += sum(
                len(s.decision.changes) for s in next(loop) if s.decision is not None and s.receipt
            )
        progress((simulation.now_s - start_s) / (end_s - start_s))
    return changes


def grid() -> tuple[Setting, ...]:
    """The 11 x 9 settings of the traces."""
    return LUSTRE.grid("pages", "flight")


def static_surface(plan: Plan, seconds: float, warmup_s: float, workers: int = 1) -> Iterator[Cell]:
    """Every setting held on its own; the cells do not depend on the number of worker processes."""
    one = partial(_hold, plan, seconds, warmup_s)
    if workers <= 1:
        yield from map(one, grid())
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(one, grid(), chunksize=3)


def _hold(plan: Plan, seconds: float, warmup_s: float, setting: Setting) -> Cell:
    return hold(plan, setting, seconds, warmup_s)


def walk_surface(
    plan: Plan, seconds: float, interval_s: float | None, progress: Callable[[float], None]
) -> Sequence[Cell]:
    """Every setting visited again and again, as the traces were recorded."""
    length_s = interval_s or (recorded_interval_s(plan.jobs[0].workload) if plan.jobs else INTERVAL_S)
    return random_walk(plan, grid(), seconds, length_s, progress)


__all__ = [
    "Course",
    "Outcome",
    "Run",
    "cluster_plan",
    "grid",
    "named_plan",
    "run",
    "single",
    "static_surface",
    "walk_surface",
]
