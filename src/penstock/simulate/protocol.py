"""How a setting is measured: held for a while after a warm-up, or visited again and again in a random walk.

The traces behind `c220g5` are random walks: a new setting after every probe, whatever is cached or in flight
carried over. Both protocols give every setting the same random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import Cluster
from penstock.simulate.simulation import Simulation, Totals
from penstock.workload import Workload

# A probe sleeps half a second and then needs time of its own: the recorded intervals are 0.516 s where the
# workload reads and 0.63 s where it writes.
READ_INTERVAL_S, WRITE_INTERVAL_S = 0.516, 0.63


@dataclass(frozen=True, slots=True)
class Cell:
    """What one setting brought, over all its time."""

    setting: Setting
    seconds: float
    totals: Totals
    dirty_bytes: float = 0.0

    @property
    def app_mbps(self) -> float:
        """What the application saw, 10^6 bytes per second."""
        return self.totals.app_bytes / self.seconds / 1e6

    @property
    def rpc_mbps(self) -> float:
        """What went over the wire."""
        return self.totals.rpc_bytes / self.seconds / 1e6

    def plus(self, other: Cell) -> Cell:
        """This cell with more time at the same setting."""
        return replace(
            self,
            seconds=self.seconds + other.seconds,
            totals=self.totals + other.totals,
            dirty_bytes=self.dirty_bytes + other.dirty_bytes,
        )


def single(cluster: Cluster, workload: Workload, seed: int) -> Plan:
    """One client that runs one workload."""
    return Plan(cluster, (Job(workload),), 1, seed)


def hold(plan: Plan, setting: Setting, seconds: float, warmup_s: float) -> Cell:
    """One setting from the start, measured after the warm-up."""
    simulation = Simulation(plan)
    simulation.set_all(setting)
    simulation.run_until(warmup_s)
    before = simulation.totals()
    simulation.run_until(warmup_s + seconds)
    return Cell(setting, seconds, simulation.totals() - before)


def recorded_interval_s(workload: Workload) -> float:
    """How long a recorded interval of such a workload lasts."""
    return READ_INTERVAL_S if workload.read_ratio >= 0.5 else WRITE_INTERVAL_S


def random_walk(
    plan: Plan,
    settings: Sequence[Setting],
    seconds: float,
    interval_s: float,
    progress: Callable[[float], None] = lambda _: None,
) -> list[Cell]:
    """One run in which every setting is in force for about `seconds` in all, one interval at a time.

    Settings come in random order, each once before any comes again. The first round warms the system up and
    is not counted.
    """
    simulation = Simulation(plan)
    rng = Random(f"walk/{plan.seed}")
    rounds = max(1, round(seconds / interval_s))
    cells: dict[Setting, Cell] = {}
    step = 0
    for number in range(rounds + 1):
        for setting in rng.sample(list(settings), len(settings)):
            step += 1
            cell = _interval(simulation, setting, step * interval_s, interval_s)
            if number > 0:
                cells[setting] = cells[setting].plus(cell) if setting in cells else cell
        progress((number + 1) / (rounds + 1))
    return [cells[setting] for setting in settings]


def _interval(simulation: Simulation, setting: Setting, until_s: float, interval_s: float) -> Cell:
    simulation.set_all(setting)
    before = simulation.totals()
    simulation.run_until(until_s)
    dirty = float(simulation.world.osc.dirty.sum()) * 4096 * interval_s
    return Cell(setting, interval_s, simulation.totals() - before, dirty)
