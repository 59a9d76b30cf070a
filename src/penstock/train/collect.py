"""Collects measurements by the papers' protocol: a random setting after every probe.

The same walk runs on the simulator and on a live client; only the ports differ. A run is one workload with one seed.
It becomes one Parquet file, written as a whole, so an interrupted collection continues where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

from penstock import __version__
from penstock.campaign.shards import Kept
from penstock.errors import AccessError
from penstock.knobs import Setting
from penstock.ports import Ports
from penstock.predict.features import MEASURES, measure
from penstock.snapshot import Target
from penstock.train import parquet
from penstock.train.table import NUMBERS, SHARED, TraceTable
from penstock.train.worlds import DRAWN
from penstock.window import DIRECTIONS, Window, windows


@dataclass(frozen=True, slots=True)
class Walk:
    """The parameters of a run. Candidates are drawn uniformly and independently for each target.

    A setting is held for `hold` probes.
    """

    candidates: Sequence[Setting]
    intervals: int
    interval_s: float
    seed: str
    hold: int = 1


@dataclass(frozen=True, slots=True)
class CollectedRun:
    """One run of a collection: what is simulated, its seed, and the probes that a setting is held."""

    cluster: str
    workload: str
    number: int
    seed: int
    intervals: int
    interval_s: float
    hold: int = 1

    @property
    def id(self) -> str:
        """The name of the run and of its file. It is unique within the collection."""
        held = f"-hold{self.hold}" if self.hold > 1 else ""
        return f"{self.cluster}-{self.workload}-{self.number:03d}-seed{self.seed}{held}"

    def path(self, directory: Path) -> Path:
        return directory / f"{self.id}.parquet"


def walk(world: Ports, how: Walk) -> Iterator[tuple[int, Window]]:
    """Yield windows with their observation number. A void interval leaves a gap in the numbers."""
    rng = Random(how.seed)
    before = world.observer.observe()
    start_s = world.clock.now()
    for number in range(how.intervals):
        for snapshot in before.targets if number % how.hold == 0 else ():
            world.actuator.set(snapshot.target, rng.choice(how.candidates))
        world.clock.sleep_until(start_s + (number + 1) * how.interval_s)
        after = world.observer.observe()
        for seen in windows(before, after):
            if isinstance(seen, Window):
                yield number, seen
        before = after


def tabulate(workload: str, iteration: int, seen: Sequence[tuple[int, Window]]) -> TraceTable:
    """Windows as rows of a table, without targets that were idle throughout.

    Targets are numbered in the order of their names.
    """
    order: dict[Target, int] = {target: at for at, target in enumerate(sorted({w.target for _, w in seen}))}
    busy = {window.target for _, window in seen if window.moved_per_s > 0}
    seen = [(number, window) for number, window in seen if window.target in busy]
    values = np.empty((len(seen), len(NUMBERS)))
    for row, (_, window) in enumerate(seen):
        for direction in DIRECTIONS:
            for name, value in zip(MEASURES, measure(window, direction), strict=True):
                values[row, NUMBERS.index(name if name in SHARED else f"{direction}_{name}")] = value
    return TraceTable(
        workload=np.array([workload] * len(seen), dtype=np.str_),
        iteration=np.full(len(seen), iteration, dtype=np.int64),
        ost=np.array([order[window.target] for _, window in seen], dtype=np.int64),
        observation_no=np.array([number for number, _ in seen], dtype=np.int64),
        values=values,
    )


class RunFiles(Kept[CollectedRun, TraceTable]):
    """The finished runs of a directory, a file each, with everything needed to repeat it."""

    def __init__(self, directory: Path, source: str) -> None:
        self._directory = directory
        self._source = source
        #: The number of rows of each run that was kept by this object.
        self.rows: dict[str, int] = {}
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise AccessError(f"{directory}: {error.strerror}") from None

    def finished(self, shards: Mapping[str, CollectedRun]) -> set[str]:
        """The runs whose files are there."""
        return {key for key, run in shards.items() if run.path(self._directory).exists()}

    def keep(self, key: str, run: CollectedRun, table: TraceTable) -> None:
        """Write a finished run."""
        origin = {
            "source": self._source,
            "run": run.id,
            "cluster": run.cluster,
            "workload": run.workload,
            "seed": run.seed,
            "interval_s": run.interval_s,
            "intervals": run.intervals,
            "protocol": f"a random setting of 99 after every {_probes(run.hold)}",
            "penstock": __version__,
        }
        parquet.write(run.path(self._directory), table, origin)
        self.rows[key] = len(table)


def _probes(hold: int) -> str:
    return "probe" if hold == 1 else f"{hold} probes"


def plan_runs(
    cluster: str, workloads: Sequence[str], runs: int, intervals: int, seed: int
) -> list[CollectedRun]:
    """The runs in an order that covers all workloads evenly, in case time runs out."""
    return [
        CollectedRun(cluster, workload, number, seed * 1000 + number, intervals, 0.5)
        for number in range(1, runs + 1)
        for workload in workloads
    ]


def plan_drawn(worlds: Sequence[str], runs: int, intervals: int, seed: int) -> list[CollectedRun]:
    """Runs of random worlds. Each has a number of its own, because runs with the same one are held out together."""
    return [
        CollectedRun(DRAWN, world, number, seed * 1000 + number, intervals, 0.5)
        for number, world in enumerate([world for _ in range(runs) for world in worlds], start=1)
    ]
