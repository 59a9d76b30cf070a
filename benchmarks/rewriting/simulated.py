"""The same cells and the same switch, simulated second by second."""

from __future__ import annotations

from benchmarks.rewriting.cells import Cell, Second

from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import Cluster, builtin_cluster
from penstock.simulate.kernel.records import PAGE
from penstock.simulate.simulation import Simulation
from penstock.units import GIB, MIB
from penstock.workload import Workload

USUAL = (1024, 8)
SECONDS = 18


def _simulation(cell: Cell, seed: int, cluster: Cluster | None) -> Simulation:
    """A client with an empty cache and the grant that the real one had, if that is known; all files on one OST."""
    files = cell.file_mb * MIB // cell.streams // MIB * MIB
    work = Workload("rewriting", cell.streams, 0.0, False, MIB, files, 2 * GIB)
    twin = cluster or builtin_cluster("emulated-10ms")
    if cell.grant_bytes:
        lustre = twin.lustre.model_copy(update={"grant_initial_bytes": cell.grant_bytes})
        twin = twin.model_copy(update={"lustre": lustre})
    simulation = Simulation(Plan(twin, (Job(work, osts=(0,)),), 1, seed))
    simulation.set_all(Setting(pages=cell.pages, flight=cell.flight, dirty=cell.limit_mb))
    return simulation


def _run(simulation: Simulation, from_s: int, until_s: int) -> list[Second]:
    seconds = []
    last = simulation.totals()
    for t in range(from_s + 1, until_s + 1):
        simulation.look(0)
        simulation.run_until(float(t))
        now = simulation.totals()
        passed, last = now - last, now
        dirty = float(simulation.world.osc.dirty[0]) * PAGE / 1e6
        seconds.append(Second(float(t), passed.app_bytes / 1e6, passed.rpc_bytes / 1e6, dirty))
    return seconds


def held(cell: Cell, seed: int, cluster: Cluster | None = None) -> list[Second]:
    """One cell as it was recorded."""
    return _run(_simulation(cell, seed, cluster), 0, SECONDS)


def switched(seed: int, end_s: float, cluster: Cluster | None = None) -> list[Second]:
    """The recorded switch: 256 MiB, from 1024 x 8 to 64 x 1 at 20 s and back at 51 s."""
    simulation = _simulation(Cell.of(256, USUAL, 512), seed, cluster)
    seconds = _run(simulation, 0, 20)
    simulation.set_all(Setting(pages=64, flight=1, dirty=512))
    seconds += _run(simulation, 20, 51)
    simulation.set_all(Setting(pages=USUAL[0], flight=USUAL[1], dirty=512))
    return seconds + _run(simulation, 51, round(end_s))
