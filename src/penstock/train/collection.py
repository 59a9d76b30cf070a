"""A collection of many runs, done in parallel processes. Finished runs are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.campaign.engines import local_engine
from penstock.campaign.shards import run_shards, unfinished
from penstock.errors import UsageError
from penstock.spaces import LUSTRE
from penstock.train.collect import CollectedRun, RunFiles, Walk, plan_drawn, plan_runs, tabulate, walk
from penstock.train.table import TraceTable
from penstock.train.worlds import DRAWN, is_drawn
from penstock.workload import parse_workload

INTERVAL_S = 0.5
LIVE = "live"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Collection:
    """What is to be collected, and where to."""

    directory: Path
    cluster: str
    workloads: tuple[str, ...]
    runs: int
    seconds: float
    seed: int
    #: Seconds for which a setting is held; the papers hold it for one probe.
    hold_s: float = INTERVAL_S

    def plan(self) -> list[CollectedRun]:
        """Every run. Unknown names are refused."""
        hold = max(1, round(self.hold_s / INTERVAL_S))
        return [replace(run, hold=hold) for run in self._runs()]

    def _runs(self) -> list[CollectedRun]:
        intervals = max(3, round(self.seconds / INTERVAL_S))
        if self.cluster == DRAWN:
            if odd := next((name for name in self.workloads if not is_drawn(name)), None):
                raise UsageError(f"{odd} is no random world: they are drawn by --worlds")
            return plan_drawn(self.workloads, self.runs, intervals, self.seed)
        for name in self.workloads:
            parse_workload(name)
        return plan_runs(self.cluster, self.workloads, self.runs, intervals, self.seed)


def collect_simulated(wanted: Collection, workers: int, say: Say) -> list[Path]:
    """Simulate all missing runs. Returns the files of the whole collection."""
    runs = wanted.plan()
    files = RunFiles(wanted.directory, "penstock simulate")
    left = unfinished({run.id: run for run in runs}, files)
    if len(left) < len(runs):
        say(f"{len(runs) - len(left)} of {len(runs)} runs are there already")
    with local_engine(workers, "spawn") as engine:
        for done, key in enumerate(run_shards(engine, simulate_table, left, files), start=1):
            say(f"{done}/{len(left)} {key}: {files.rows[key]} rows")
    return [run.path(wanted.directory) for run in runs]


def simulate_table(run: CollectedRun) -> TraceTable:
    """One run on the simulator, from its first probe to its last."""
    from penstock.train.simulated_world import simulated_world

    world = simulated_world(run.cluster, run.workload, run.seed)
    how = Walk(LUSTRE.candidates(), run.intervals, run.interval_s, run.id, run.hold)
    return tabulate(run.workload, run.number, list(walk(world, how)))


def collect_live(wanted: Collection, root: Path, state_dir: Path, say: Say) -> list[Path]:
    """Run the protocol on a live client, one run after the other.

    The knobs are restored when this returns or fails.
    """
    from penstock.train.live import live_world

    runs = replace(wanted, cluster=LIVE).plan()
    files = RunFiles(wanted.directory, "live client")
    for key, run in unfinished({run.id: run for run in runs}, files).items():
        with live_world(root, state_dir) as world:
            how = Walk(LUSTRE.candidates(), run.intervals, run.interval_s, run.id, run.hold)
            table = tabulate(run.workload, run.number, list(walk(world, how)))
        files.keep(key, run, table)
        say(f"{key}: {len(table)} rows; knobs restored")
    return [run.path(wanted.directory) for run in runs]
