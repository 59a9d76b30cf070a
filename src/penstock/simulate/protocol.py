"""How a setting is measured: held for a while after a warm-up, or visited again and again in a random walk.

The traces behind `c220g5` are random walks: a new setting after every probe, whatever is cached or in flight
carried over. Both protocols give every setting the same random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from penstock.knobs import Setting
from penstock.simulate.assembly import Plan
from penstock.simulate.simulation import Simulation, Totals
from penstock.workload import Workload


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How a recorder walks: it counts for an interval, then pauses before it counts again.

    The next setting is in force only some time after counting began: until then, and in the pause, the old one is.
    """

    interval_s: float
    delay_s: float = 0.0
    pause_s: float = 0.0


# The recorder of the traces sleeps half a second and needs time of its own, more where many pages are written.
# The interval is its own record. Pause: 300 s of reads are 523 rows; RPCs sent in one burst of writes are 0.69-0.70 s
# older in every following row, though a row lasts 0.63 s, and 404 rows fill 300 s (0.74); playing the recorded
# settings of seq_w_1_io_1m again, its rows come nearest with 0.08 s. Delay: likewise, with seq_r_1_io_1m for reads
# (0.010 s by the RPCs' counters, 0.025 s by the application's; for writes 0.085 and 0.045 s, the latter taken).
READS_RECORDED = Rhythm(interval_s=0.516, delay_s=0.016, pause_s=0.06)
WRITES_RECORDED = Rhythm(interval_s=0.63, delay_s=0.045, pause_s=0.08)


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


def recorded_rhythm(workload: Workload) -> Rhythm:
    """How such a workload was recorded."""
    return READS_RECORDED if workload.read_ratio >= 0.5 else WRITES_RECORDED


def random_walk(
    plan: Plan,
    settings: Sequence[Setting],
    seconds: float,
    rhythm: Rhythm,
    progress: Callable[[float], None] = lambda _: None,
) -> list[Cell]:
    """One run in which every setting is counted for about `seconds` in all, one interval at a time.

    Settings come in random order, each once before any comes again. The first round warms the system up and
    is not counted.
    """
    simulation = Simulation(plan)
    rng = Random(f"walk/{plan.seed}")
    rounds = max(1, round(seconds / rhythm.interval_s))
    cells: dict[Setting, Cell] = {}
    step = 0
    for number in range(rounds + 1):
        for setting in rng.sample(list(settings), len(settings)):
            start_s = step * (rhythm.interval_s + rhythm.pause_s)
            cell = visit(simulation, setting, start_s, rhythm)
            step += 1
            if number > 0:
                cells[setting] = cells[setting].plus(cell) if setting in cells else cell
        progress((number + 1) / (rounds + 1))
    return [cells[setting] for setting in settings]


def visit(simulation: Simulation, setting: Setting, start_s: float, rhythm: Rhythm) -> Cell:
    """One interval from `start_s` on, in which a setting comes into force after the rhythm's delay."""
    simulation.run_until(start_s)
    before = simulation.totals()
    simulation.run_until(start_s + rhythm.delay_s)
    simulation.set_all(setting)
    simulation.run_until(start_s + rhythm.interval_s)
    dirty = float(simulation.world.osc.dirty.sum()) * 4096 * rhythm.interval_s
    return Cell(setting, rhythm.interval_s, simulation.totals() - before, dirty)
