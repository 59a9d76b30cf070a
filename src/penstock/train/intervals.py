"""Recorded intervals by workload and setting, from any kind of recording. Replays and surveys use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.errors import DataError
from penstock.knobs import Setting
from penstock.predict.features import MAX_HISTORY
from penstock.snapshot import Target, TargetSnapshot
from penstock.spaces import LUSTRE
from penstock.train.table import PER_DIRECTION, Ints, TraceTable, read_table
from penstock.window import DIRECTIONS, Window, window

# Shorter rows were written while a recorder started.
SHORTEST_S = 0.2
TARGET = Target("recorded", "recorded", "OST0000")


@dataclass(frozen=True, slots=True)
class RecordedInterval:
    """One interval and those recorded just before it, oldest first. The earlier ones may have other settings."""

    window: Window
    before: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class RecordedWorkload:
    """Everything recorded of one workload, by setting.

    `mbps` is the application's throughput at each setting in 10^6 bytes per second, over all of its active time.
    """

    name: str
    intervals: Mapping[Setting, Sequence[RecordedInterval]]
    mbps: Mapping[Setting, float]

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What can be replayed, smallest values first."""
        return tuple(sorted(self.intervals, key=lambda setting: tuple(setting.values())))


def read_workloads(directory: Path) -> list[RecordedWorkload]:
    """All workloads of a directory with recordings of held settings, traces of a random walk, or files of
    `collect`.
    """
    from penstock.train.held import is_held, read_held

    if is_held(directory):
        return read_held(directory)
    return from_table(read_table(directory))


def from_table(table: TraceTable) -> list[RecordedWorkload]:
    """The workloads of a random walk: the busiest target of every run, while its application was active."""
    found = [_walked(table, str(name)) for name in np.unique(table.workload)]
    return [workload for workload in found if workload.intervals]


def _walked(table: TraceTable, name: str) -> RecordedWorkload:
    intervals: dict[Setting, list[RecordedInterval]] = {}
    rates: dict[Setting, list[float]] = {}
    for iteration in np.unique(table.iteration[table.workload == name]):
        rows = np.flatnonzero((table.workload == name) & (table.iteration == iteration))
        series, active, app_bytes = _active(table, rows)
        seen = [_window(table, series, at) for at in range(len(series))]
        for at in map(int, np.flatnonzero(active)):
            setting = seen[at].setting.only("pages", "flight")
            before = tuple(seen[max(0, at - MAX_HISTORY) : at])
            intervals.setdefault(setting, []).append(RecordedInterval(seen[at], before))
            rates.setdefault(setting, []).append(app_bytes[at] / seen[at].seconds / 1e6)
    means = {setting: float(np.mean(values)) for setting, values in rates.items()}
    return RecordedWorkload(name, intervals, means)


def _active(table: TraceTable, rows: Ints) -> tuple[Ints, np.ndarray, np.ndarray]:
    """The rows of a run's busiest target, which of them count, and the bytes of all applications.

    A row counts if it is strictly between the application's first and last byte.
    """
    moved = table.column("read_bytes") + table.column("write_bytes")
    app = table.column("read_app_bytes") + table.column("write_app_bytes")
    osts = np.unique(table.ost[rows])
    busiest = max(osts, key=lambda ost: moved[rows[table.ost[rows] == ost]].sum())
    series = rows[table.ost[rows] == busiest]
    observations, place = np.unique(table.observation_no[rows], return_inverse=True)
    together = np.bincount(place, app[rows], len(observations))
    asked = together[np.searchsorted(observations, table.observation_no[series])]
    busy = np.flatnonzero(asked > 0)
    active = np.zeros(len(series), dtype=np.bool_)
    if len(busy):
        active[busy[0] + 1 : busy[-1]] = True
    return series, active & (table.column("seconds")[series] > SHORTEST_S), asked


def _window(table: TraceTable, series: Ints, at: int) -> Window:
    """A row as the agent would have seen it. The dirty bytes before it are those of the row before."""
    row = int(series[at])
    seconds = float(table.column("seconds")[row])
    setting = LUSTRE.default.replace({knob: int(table.column(knob)[row]) for knob in ("pages", "flight")})
    moved = {
        f"{direction}.{name}": float(table.column(f"{direction}_{name}")[row])
        for direction in DIRECTIONS
        for name in PER_DIRECTION[:3]
    }
    app = {
        f"app.{direction}_{name}": float(table.column(f"{direction}_app_{name}")[row])
        for direction in DIRECTIONS
        for name in ("bytes", "calls")
    }
    then = int(series[max(0, at - 1)])
    gauges = [
        {f"{name}.bytes": float(table.column(f"{name}_bytes")[which]) for name in ("dirty", "grant")}
        for which in (then, row)
    ]
    first = TargetSnapshot(TARGET, 0.0, setting, dict.fromkeys(moved, 0.0), gauges[0])
    found = window(first, TargetSnapshot(TARGET, max(seconds, 1e-3), setting, moved, gauges[1]), app)
    if not isinstance(found, Window):
        raise DataError(f"row {row}: {found.reason}")
    return found
