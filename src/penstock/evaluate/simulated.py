"""Runs and response surfaces on the simulated cluster: a held setting, a policy, or all 99 settings."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from penstock.campaign.engines import local_engine
from penstock.campaign.shards import in_order
from penstock.evaluate.drivers import Course, Decided, Driver, Hold, make_driver
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.knobs import Setting
from penstock.simulate.assembly import Plan
from penstock.simulate.cluster import Cluster
from penstock.simulate.kernel.counters import BYTES
from penstock.simulate.protocol import Cell, Rhythm, random_walk, recorded_rhythm
from penstock.simulate.simulation import Simulation, Totals, client_space
from penstock.spaces import LUSTRE
from penstock.units import PAGE_BYTES

Counts = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The result of one client, or of all clients, over the measured time."""

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
    """The time from which a target of a client held a setting."""

    t_s: float
    client: int
    ost: int
    setting: Setting


@dataclass(frozen=True, slots=True)
class Trail:
    """The measured time by interval: the bytes of each client's applications, and the changes of knobs.

    `grown_bytes` is by how much each client's dirty data grew, `writing` the share of tasks with an end that wrote at
    the end of each interval.
    """

    read_bytes: tuple[tuple[float, ...], ...]
    write_bytes: tuple[tuple[float, ...], ...]
    grown_bytes: tuple[tuple[float, ...], ...]
    moves: tuple[Move, ...]
    writing: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Share:
    """The throughput of some application calls over the measured time, in 10^6 bytes per second, and their number."""

    read_mbps: float
    write_mbps: float
    reads: int
    writes: int

    @property
    def app_mbps(self) -> float:
        return self.read_mbps + self.write_mbps

    @property
    def requests(self) -> int:
        """Calls of both kinds."""
        return self.reads + self.writes

    def __add__(self, other: Share) -> Share:
        return Share(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Share)))


@dataclass(frozen=True, slots=True)
class Run:
    """A complete run: totals, each client, each job of the plan, and the changes of knobs.

    `targets` are those with files of jobs, by client and OST. `wire_mbps` is what went over the wire, read and
    written. `done_s` is when the last task with an end reached it, counted from the end of the warm-up.
    """

    total: RunFigures
    clients: tuple[RunFigures, ...]
    final: Setting
    changes: int
    events: int
    trail: Trail
    lost_bytes: tuple[int, ...]
    jobs: tuple[Share, ...]
    targets: Mapping[tuple[int, int], Share]
    wire_mbps: tuple[float, float]
    decided: tuple[Decided, ...]
    held_back: Mapping[str, int]
    done_s: float | None = None


def run(plan: Plan, course: Course, progress: Callable[[float], None] = lambda _: None) -> Run:
    """Drive a simulated cluster through warm-up and measurement, interval by interval."""
    simulation = Simulation(plan)
    if course.setting is not None:
        simulation.set_all(course.setting)
    if course.limits_mib is not None:
        for osc in range(simulation.oscs):
            simulation.set(osc, Setting(dirty=course.limits_mib[osc % len(course.limits_mib)]))
    if course.warmup_s > 0:
        # Switches at the start hold during the warm-up too.
        Hold(simulation, [each for each in course.switches if each.from_s <= 0]).switch()
    simulation.run_until(course.warmup_s)
    before = [simulation.totals(client) for client in range(plan.clients)]
    events = simulation.totals().events
    streams, wire = _stream_counts(simulation), _wire_bytes(simulation)
    driver = make_driver(simulation, course)
    changes, trail = _drive(simulation, driver, course, progress)
    lasted_s = simulation.now_s - course.warmup_s if course.until_done else course.seconds
    by_job, by_target = _shares(simulation, _stream_counts(simulation) - streams, lasted_s)
    wire_read, wire_write = _wire_bytes(simulation)
    each = tuple(simulation.totals(client) - before[client] for client in range(plan.clients))
    total = each[0]
    for one in each[1:]:
        total = total + one
    return Run(
        RunFigures(lasted_s, total),
        tuple(RunFigures(lasted_s, one) for one in each),
        simulation.setting(int(simulation.world.file.osc[0])),
        changes,
        simulation.totals().events - events,
        trail,
        tuple(simulation.lost_bytes(client) for client in range(plan.clients)),
        by_job,
        by_target,
        ((wire_read - wire[0]) / lasted_s / 1e6, (wire_write - wire[1]) / lasted_s / 1e6),
        tuple(driver.decided),
        dict(driver.held_back),
        simulation.done_s - course.warmup_s if course.until_done and simulation.done_s is not None else None,
    )


def _stream_counts(simulation: Simulation) -> Counts:
    """What every stream has moved so far: bytes read and written, calls that read and wrote."""
    stream = simulation.world.stream
    names = ("read_bytes", "write_bytes", "read_calls", "write_calls")
    return np.stack([stream[name] for name in names], axis=1)


def _wire_bytes(simulation: Simulation) -> tuple[float, float]:
    read, write = simulation.world.sums[:, BYTES].reshape(-1, 2).sum(axis=0)
    return float(read), float(write)


def _share(moved: Counts, seconds: float) -> Share:
    read_bytes, write_bytes, reads, writes = (int(each) for each in moved.sum(axis=0))
    return Share(read_bytes / seconds / 1e6, write_bytes / seconds / 1e6, reads, writes)


def _shares(
    simulation: Simulation, moved: Counts, seconds: float
) -> tuple[tuple[Share, ...], dict[tuple[int, int], Share]]:
    """The shares of each job and each target. The streams of a job are consecutive, in the order of the jobs."""
    jobs = simulation.plan.jobs
    ends = np.cumsum([job.workload.streams for job in jobs]).tolist()
    by_job = tuple(_share(part, seconds) for part in np.split(moved, ends)[: len(jobs)])
    world, osts = simulation.world, simulation.plan.cluster.layout.ost_count
    oscs = world.file.osc[world.stream.file[: ends[-1] if ends else 0]]
    by_target = {
        divmod(int(osc), osts): _share(moved[: len(oscs)][oscs == osc], seconds) for osc in np.unique(oscs)
    }
    return by_job, by_target


def _drive(
    simulation: Simulation, driver: Driver, course: Course, progress: Callable[[float], None]
) -> tuple[int, Trail]:
    start_s, end_s = simulation.now_s, course.warmup_s + course.seconds
    recorder = Recorder(simulation)
    changes = 0
    while simulation.now_s + INTERVAL_S <= end_s + 1e-9:
        changes += driver.advance()
        recorder.take()
        progress((simulation.now_s - start_s) / course.seconds)
        if course.until_done and simulation.done_s is not None:
            return changes, recorder.trail()
    if simulation.now_s < end_s:
        simulation.run_until(end_s)
    return changes, recorder.trail()


class Recorder:
    """Records a run by interval, for the targets that hold files."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._oscs = sorted({int(osc) for osc in simulation.world.file.osc})
        #: Bytes read, bytes written, growth of dirty data: of each a row per interval with a value per client.
        self._rows: tuple[list[tuple[float, ...]], ...] = ([], [], [])
        self._moves: list[Move] = []
        self._writing: list[float] = []
        self._settings: dict[int, Setting] = {}
        self._before = self._moved()
        self._look()

    def take(self) -> None:
        """One more interval has passed."""
        now = self._moved()
        for rows, after, before in zip(self._rows, now, self._before, strict=True):
            rows.append(tuple((after - before).tolist()))
        self._before = now
        self._writing.append(self._simulation.writing_ratio)
        self._look()

    def trail(self) -> Trail:
        read, write, grown = (tuple(rows) for rows in self._rows)
        return Trail(read, write, grown, tuple(self._moves), tuple(self._writing))

    def _moved(self) -> list[Any]:
        world = self._simulation.world
        osts = self._simulation.plan.cluster.layout.ost_count
        dirty = world.osc.dirty.astype(float).reshape(-1, osts).sum(axis=1) * PAGE_BYTES
        return [world.client.read_bytes.astype(float), world.client.write_bytes.astype(float), dirty]

    def _look(self) -> None:
        osts = self._simulation.plan.cluster.layout.ost_count
        for osc in self._oscs:
            setting = self._simulation.setting(osc)
            if self._settings.get(osc) != setting:
                self._settings[osc] = setting
                self._moves.append(Move(self._simulation.now_s, osc // osts, osc % osts, setting))


def grid() -> tuple[Setting, ...]:
    """The 11 x 9 settings of the traces."""
    return LUSTRE.candidates().settings


def legal_grid(cluster: Cluster) -> tuple[Setting, ...]:
    """Those of the 11 x 9 settings that this cluster's clients accept."""
    return client_space(cluster).candidates().settings


def static_surface(
    plan: Plan, seconds: float, warmup_s: float, workers: int = 1
) -> Generator[Cell, None, None]:
    """Every setting held on its own; the cells do not depend on the number of worker processes."""
    with local_engine(workers) as engine:
        yield from in_order(engine, partial(hold, plan, seconds, warmup_s), grid())


def hold(plan: Plan, seconds: float, warmup_s: float, setting: Setting) -> Cell:
    """One setting from the start, measured after the warm-up."""
    return Cell(setting, seconds, run(plan, Course(seconds, warmup_s, setting)).total.totals)


def walk_surface(
    plan: Plan, seconds: float, interval_s: float | None, progress: Callable[[float], None]
) -> Sequence[Cell]:
    """Visit every setting repeatedly: with the timing of the recorded traces, or without pauses."""
    if interval_s is None and plan.jobs:
        rhythm = recorded_rhythm(plan.jobs[0].workload)
    else:
        rhythm = Rhythm(interval_s or INTERVAL_S)
    return random_walk(plan, grid(), seconds, rhythm, progress)


__all__ = [
    "Course",
    "Move",
    "Run",
    "RunFigures",
    "Trail",
    "grid",
    "run",
    "static_surface",
    "walk_surface",
]
