"""Replays jobs that come and go: each is placed by a rule when it arrives, and then shares its resources."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.schedule.advice import SiteScene, advise
from penstock.schedule.job import Job

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

PHASES = 10
"""How often a job computes and writes in turn. Nobody records that; in the paper it is 2 to 20 times."""
BINS = 200
FIRST_SEATS = 64

Placer = Callable[[Sequence[Job], Job], tuple[int, ...]]
"""Chooses the resources of a job, given those that run."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job that starts at `start_s` and does I/O: its demand is known."""

    job: Job
    start_s: float


@dataclass(frozen=True, slots=True)
class Arrived:
    """What became of a job: on how many resources, its time in I/O, and that relative to its fastest alone."""

    name: str
    count: int
    io_s: float
    slowdown: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Replayed:
    """A whole replay, with the compute nodes that were idle in I/O on average, overall and in each interval."""

    jobs: tuple[Arrived, ...]
    span_s: float
    idle_nodes: float
    idle_over_time: tuple[float, ...]
    interval_s: float

    @property
    def mean_slowdown(self) -> float:
        """Over all jobs that did I/O, whatever their size."""
        return math.fsum(job.slowdown for job in self.jobs) / len(self.jobs) if self.jobs else 1.0

    @property
    def worst(self) -> Arrived | None:
        """The job with the largest slowdown."""
        return max(self.jobs, key=lambda job: job.slowdown, default=None)


def by_rule(scene: SiteScene) -> Placer:
    """Places as `advise` would, on the platform and by the rule of the scene."""

    def place(running: Sequence[Job], job: Job) -> tuple[int, ...]:
        return advise(replace(scene, running=running), job).resources

    return place


def replay(arrivals: Sequence[Arrival], resources: int, place: Placer, phases: int = PHASES) -> Replayed:
    """Play all arrivals to their ends. `arrivals` are in the order of their starts.

    A job computes and writes `phases` times in turn, in equal parts.
    """
    if not arrivals:
        return Replayed((), 0.0, 0.0, (), 1.0)
    first_s = arrivals[0].start_s
    span_s = max(one.start_s - first_s + _alone_s(one.job) for one in arrivals)
    seats = _Seats(resources, span_s / BINS)
    for arrival in arrivals:
        now_s = arrival.start_s - first_s
        seats.advance(now_s)
        ids = place(seats.running, arrival.job)
        seats.sit(replace(arrival.job, resources=ids), now_s, phases)
    seats.advance(math.inf)
    jobs = tuple(sorted(seats.done, key=lambda one: one.end_s))
    whole_s = jobs[-1].end_s or 1e-9
    spent = float(seats.idle.sum())
    over = tuple((seats.idle / seats.interval_s).tolist())
    return Replayed(jobs, whole_s, spent / whole_s, over, seats.interval_s)


def _alone_s(job: Job) -> float:
    curve = job.curve
    if curve is None or job.compute_s is None or job.io_bytes is None:
        raise ValueError(f"{job.name}: its demand is not known")
    return job.compute_s + job.io_bytes / curve.at(1)


class _Seats:
    """The state of the simulation. It grows when more jobs run at once than ever before."""

    def __init__(self, resources: int, interval_s: float) -> None:
        import numpy as np

        self.interval_s = max(interval_s, 1e-9)
        self.idle: Floats = np.zeros(BINS)
        self.done: list[Arrived] = []
        self._jobs: dict[int, Job] = {}
        self._free: list[int] = []
        self._resources = resources
        self._times = np.zeros((7, 0))
        self._state = np.zeros((3, 0), np.int64)
        self._places = np.zeros((0, resources), np.int64)
        self._slot_app = np.zeros((resources, 0), np.int64)
        self._slot_target = np.zeros((resources, 0))
        self._active = np.zeros(resources, np.int64)
        self._due_slot = np.zeros(resources, np.int64)
        self._table = np.zeros((5, resources))
        self._table[2] = np.inf
        self._grow(FIRST_SEATS)

    @property
    def running(self) -> tuple[Job, ...]:
        """The jobs that run now, on their resources."""
        return tuple(self._jobs.values())

    def advance(self, until_s: float) -> None:
        """Go on to a time, and let those leave who have finished."""
        import numpy as np

        from penstock.schedule.live_fluid import END, advance

        width = self._times.shape[1]
        starts = np.arange(self._resources + 1) * width
        slots = (starts, self._slot_app.reshape(-1), self._slot_target.reshape(-1))
        shared = (slots, self._active, self._due_slot, self._table, (self.idle, self.interval_s))
        advance(until_s, self._times, self._state, self._places, *shared)
        for seat in np.flatnonzero(self._times[END] >= 0).tolist():
            self._leave(seat)

    def sit(self, job: Job, now_s: float, phases: int) -> None:
        """Let a job begin."""
        from penstock.schedule.live_fluid import COMPUTE, END, IO, LEFT, NODES, WAKE, WIDTH, WORK

        if not self._free:
            self._grow(2 * self._times.shape[1])
        seat = self._free.pop()
        curve, volume, compute_s = job.curve, job.io_bytes or 0.0, job.compute_s or 0.0
        width = len(job.resources)
        work_s = volume / curve.at(width) if curve else 0.0
        self._jobs[seat] = job
        self._places[seat, :width] = job.resources
        self._state[LEFT, seat], self._state[WIDTH, seat] = phases, width
        self._times[COMPUTE, seat], self._times[WORK, seat] = compute_s / phases, work_s / phases
        self._times[NODES, seat], self._times[IO, seat] = job.compute_nodes, 0.0
        self._times[WAKE, seat], self._times[END, seat] = now_s + compute_s / phases, -1.0

    def _leave(self, seat: int) -> None:
        from penstock.schedule.live_fluid import END, IO

        job = self._jobs.pop(seat)
        io_s, end_s = float(self._times[IO, seat]), float(self._times[END, seat])
        alone_s = (job.io_bytes or 0.0) / (job.curve.highest(self._resources) if job.curve else math.inf)
        slowdown = io_s / alone_s if alone_s > 0 else 1.0
        self.done.append(Arrived(job.name, len(job.resources), io_s, slowdown, end_s))
        self._times[END, seat] = -1.0
        self._free.append(seat)

    def _grow(self, seats: int) -> None:
        import numpy as np

        from penstock.schedule.live_fluid import END, WAKE

        old = self._times.shape[1]
        more = ((0, 0), (0, seats - old))
        self._times = np.pad(self._times, more)
        self._times[WAKE, old:], self._times[END, old:] = np.inf, -1.0
        self._state = np.pad(self._state, more)
        self._places = np.pad(self._places, (more[1], (0, 0)))
        self._slot_app = np.pad(self._slot_app, more)
        self._slot_target = np.pad(self._slot_target, more)
        # A transfer keeps its place in its resource's row, but the rows are wider now.
        row, column = np.arange(self._resources) * seats, self._due_slot % max(old, 1)
        self._due_slot = row + column
        self._free = list(range(seats - 1, old - 1, -1)) + self._free
