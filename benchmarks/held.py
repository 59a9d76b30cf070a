"""One setting held while a program runs for some seconds: the protocol of recordings on a real client.

Before each run the client's cache is empty. Reads visit every block of their file once, in order or shuffled, and
may be done early; writes go over their file again and again and end with a flush, which counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from penstock.errors import UsageError
from penstock.knobs import Setting
from penstock.simulate.assembly import SECOND_US, Plan
from penstock.simulate.cluster import Cluster
from penstock.simulate.kernel.records import READ, WRITE
from penstock.simulate.kernel.states import STOPPED
from penstock.simulate.script import Script, ScriptFile, Steps, Task
from penstock.simulate.simulation import Simulation, Totals
from penstock.units import GIB, MIB, parse_size

_NAME = re.compile(r"(?P<order>[rs])(?P<direction>[rw])_(?P<block>[0-9]+[kmg])_(?P<threads>[0-9]+)")
# Programs that ran beside each other, each on a file of its own.
_TOGETHER = {"mix_rr_sw_1m": ("rr_1m_2", "sw_1m_1")}
FILE_BYTES = 384 * MIB
SECONDS = 5.0
LOOK_S = 0.5
# A flush may take long; one that takes longer than this never ends.
PATIENCE_S = 600.0


@dataclass(frozen=True, slots=True)
class Held:
    """What came of one setting: MB/s of each program, its flush included, and the client's RPC counters."""

    setting: Setting
    mbps: tuple[float, ...]
    totals: Totals
    seconds: float

    @property
    def rpc_ms(self) -> float:
        """Mean time from handing an RPC over until its reply."""
        return self.totals.rpc_usec / max(self.totals.rpcs, 1.0) / 1e3

    @property
    def pages_per_rpc(self) -> float:
        """Mean size of an RPC."""
        return self.totals.rpc_bytes / 4096 / max(self.totals.rpcs, 1.0)


def held_script(name: str, seed: int) -> Script:
    """A recorded workload such as `rr_1m_4`: random (or `s`equential) reads (or `w`rites), 1 MiB, 4 threads."""
    parts = _TOGETHER.get(name, (name,))
    files = tuple(ScriptFile(FILE_BYTES) for _ in parts)
    tasks = [task for number, part in enumerate(parts) for task in _tasks(part, number, files, seed)]
    return Script(name, files, tuple(tasks), cache_bytes=2 * GIB)


def _tasks(name: str, file: int, files: tuple[ScriptFile, ...], seed: int) -> list[Task]:
    match = _NAME.fullmatch(name)
    if match is None:
        raise UsageError(
            f"unknown held workload {name!r}: names look like rr_1m_4, or are {', '.join(_TOGETHER)}"
        )
    size, threads = parse_size(match["block"]), int(match["threads"])
    blocks = list(range(FILE_BYTES // size))
    if match["order"] == "r":
        Random(f"held/{name}/{seed}").shuffle(blocks)
    share = -(-len(blocks) // threads)
    writes = match["direction"] == "w"
    made = []
    for thread in range(threads):
        steps = Steps(files)
        for block in blocks[thread * share : (thread + 1) * share]:
            (steps.write if writes else steps.read)(file, block * size, size)
        made.append(Task(0, steps.ops, repeats=writes, stop_s=SECONDS, flushes=writes))
    return made


def run_held(cluster: Cluster, name: str, setting: Setting, seed: int) -> Held:
    """Run one cell as it was recorded: the setting in force from the start, a look at the counters twice a second."""
    script = held_script(name, seed)
    simulation = Simulation(Plan(cluster, (), 1, seed, scripts=(script,)))
    simulation.set_all(setting)
    stream = simulation.world.stream
    while (stream.mode != STOPPED).any():
        if simulation.now_s > PATIENCE_S:
            raise UsageError(f"{name}: nothing ends within {PATIENCE_S:.0f} s at {setting}")
        simulation.look(0)
        simulation.run_until(simulation.now_s + LOOK_S)
    client = simulation.world.client
    moved = {READ: float(client.read_bytes[0]), WRITE: float(client.write_bytes[0])}
    ends_us = {way: float(stream.call_us[stream.direction == way].max(initial=0.0)) for way in (READ, WRITE)}
    mbps = tuple(moved[way] / ends_us[way] for way in (READ, WRITE) if moved[way] > 0.0)
    return Held(setting, mbps, simulation.totals(), max(ends_us.values()) / SECOND_US)
