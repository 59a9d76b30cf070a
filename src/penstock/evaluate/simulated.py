"""Runs and response surfaces on the simulated cluster: a setting held, a policy at work, or all 99 settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.evaluate.drivers import INTERVAL_S, Course, make_driver
from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import Cluster
from penstock.simulate.protocol import Cell, Rhythm, hold, random_walk, recorded_rhythm, single
from penstock.simulate.simulation import Simulation, Totals
from penstock.spaces import LUSTRE
from penstock.units import PAGE_BYTES
from penstock.workload import Workload


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
class Move:
    """From when on a target of a client held a setting."""

    t_s: float
    client: int
    ost: int
    setting: Setting


@dataclass(frozen=True, slots=True)
class Trail:
    """The measured time interval by interval: what each client's applications moved, and how knobs moved."""

    read_bytes: tuple[tuple[float, ...], ...]
    write_bytes: tuple[tuple[float, ...], ...]
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """A whole run: aggregates, each client, and what the knobs did."""

    total: Outcome
    clients: tuple[Outcome, ...]
    final: Setting
    changes: int
    events: int
    trail: Trail
    lost_bytes: tuple[int, ...] = ()


def cluster_plan(cluster: Cluster, workload: Workload, clients: int, seed: int) -> Plan:
    """Every client runs the same workload on files of its own."""
    return Plan(cluster, tuple(Job(workload, client) for client in range(clients)), clients, seed)


def run(plan: Plan, course: Course, progress: Callable[[float], None] = lambda _: None) -> Run:
    """Drive a simulated cluster through warm-up and measurement, interval by interval."""
    simulation = Simulation(plan)
    if course.setting is not None:
        simulation.set_all(course.setting)
    simulation.run_until(course.warmup_s)
    before = [simulation.totals(client) for client in range(plan.clients)]
    events = simulation.totals().events
    changes, trail = _drive(simulation, course, progress)
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
        trail,
        tuple(simulation.lost_bytes(client) for client in range(plan.clients)),
    )


def _drive(simulation: Simulation, course: Course, progress: Callable[[float], None]) -> tuple[int, Trail]:
    start_s, end_s = simulation.now_s, course.warmup_s + course.seconds
    driver = make_driver(simulation, course)
    recorder = Recorder(simulation)
    changes = 0
    while simulation.now_s + INTERVAL_S <= end_s + 1e-9:
        changes += driver.advance()
        recorder.take()
        progress((simulation.now_s - start_s) / course.seconds)
    if simulation.now_s < end_s:
        simulation.run_until(end_s)
    return changes, recorder.trail()


class Recorder:
    """Writes a run's trail: which targets are looked at is known from the start, those that hold files."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._oscs = sorted({int(osc) for osc in simulation.world.file.osc})
        self._read: list[tuple[float, ...]] = []
        self._write: list[tuple[float, ...]] = []
        self._moves: list[Move] = []
        self._settings: dict[int, Setting] = {}
        self._before = self._moved()
        self._look()

    def take(self) -> None:
        """One more interval has passed."""
        now = self._moved()
        read, write = (tuple((now[way] - self._before[way]).tolist()) for way in range(2))
        self._read.append(read)
        self._write.append(write)
        self._before = now
        self._look()

    def trail(self) -> Trail:
        """Everything so far."""
        return Trail(tuple(self._read), tuple(self._write), tuple(self._moves))

    def _moved(self) -> list[Any]:
        client = self._simulation.world.client
        return [client.read_bytes.astype(float), client.write_bytes.astype(float)]

    def _look(self) -> None:
        osts = self._simulation.plan.cluster.layout.ost_count
        for osc in self._oscs:
            setting = self._simulation.setting(osc)
            if self._settings.get(osc) != setting:
                self._settings[osc] = setting
                self._moves.append(Move(self._simulation.now_s, osc // osts, osc % osts, setting))


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
    """Every setting visited again and again: as the traces were recorded, or at once and without a pause."""
    if interval_s is None and plan.jobs:
        rhythm = recorded_rhythm(plan.jobs[0].workload)
    else:
        rhythm = Rhythm(interval_s or INTERVAL_S)
    return random_walk(plan, grid(), seconds, rhythm, progress)


__all__ = [
    "Course",
    "Move",
    "Outcome",
    "Run",
    "Trail",
    "cluster_plan",
    "grid",
    "named_plan",
    "run",
    "single",
    "static_surface",
    "walk_surface",
]
