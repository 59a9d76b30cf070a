"""Turns recordings and memories of real clients into survey cases: one per workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from penstock.decide.level import Level
from penstock.decide.look import look_of
from penstock.decide.objective import Rates, rates_of
from penstock.errors import DataError
from penstock.knobs import Setting
from penstock.train.intervals import RecordedWorkload, read_workloads
from penstock.train.remembered_cases import knowledge_files, remembered_rates
from penstock.train.survey import GRID, HOME, LEAST_SETTINGS, REAL_WEIGHT, HeldRates


def recorded_rates(directories: Sequence[Path]) -> list[HeldRates]:
    """The workloads of some directories: recordings, agents' state directories, or directories of those.

    Work that was never measured at the default is left out, because gains are relative to the default.
    """
    found = [held for directory in directories for held in _held_in(directory)]
    if not found:
        names = ", ".join(map(str, directories))
        raise DataError(
            f"{names}: no workload was measured at the default setting {GRID[HOME]} and at "
            f"{LEAST_SETTINGS - 1} others"
        )
    return found


def _held_in(directory: Path) -> list[HeldRates]:
    if files := knowledge_files(directory):
        return [held for file in files for held in remembered_rates(file)]
    found = (workload for workload in read_workloads(directory) if GRID[HOME] in workload.intervals)
    return [_held(f"{directory.resolve().name}/{workload.name}", workload) for workload in found]


def _held(name: str, workload: RecordedWorkload) -> HeldRates:
    held = HeldRates(name, _levels(workload), weight=REAL_WEIGHT)
    windows = (interval.window for interval in workload.intervals[GRID[HOME]])
    return replace(held, look=look_of(held.kind, windows))


def _levels(workload: RecordedWorkload) -> dict[Setting, Level]:
    """The rate of every setting: the application's own figure if known, divided among directions as on the wire."""
    levels = {}
    for setting, intervals in workload.intervals.items():
        level = Level()
        for interval in intervals:
            level.take(rates_of(interval.window))
        own = workload.mbps.get(setting, 0.0) * 1e6
        if own > 0 and level.mean.total > 0:
            part, mean = own / level.mean.total, level.mean
            level.variance *= part**2
            level.mean = Rates(mean.read * part, mean.write * part, mean.read_flight, mean.write_flight)
        levels[setting] = level
    return levels
