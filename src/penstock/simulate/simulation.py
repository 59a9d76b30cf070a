"""A running simulated cluster: let time pass, read totals, turn knobs. Deterministic given its plan."""

from __future__ import annotations

import errno
from dataclasses import dataclass, fields

import numpy as np

from penstock.errors import KnobError, PenstockError
from penstock.knobs import KnobSpace, Setting
from penstock.simulate.assembly import SECOND_US, Plan, assemble
from penstock.simulate.cluster import Cluster
from penstock.simulate.kernel.compiler import require_compiler
from penstock.simulate.kernel.cores import look
from penstock.simulate.kernel.counters import BYTES, COUNT, USEC, account_range
from penstock.simulate.kernel.engine import run_until
from penstock.simulate.kernel.knobset import apply_knobs
from penstock.simulate.kernel.records import ARRAYS, PAGE, POOLS, WRITE, World
from penstock.simulate.kernel.scripted import MEET, REST, SYNC
from penstock.simulate.kernel.states import IMPORT_WORDS, STOPPED
from penstock.spaces import lustre
from penstock.units import GIB, MIB

PAGES_PER_MIB = MIB // PAGE


class PoolError(PenstockError):
    """A simulated world needs more records than were made for it: a fault of `assembly`, not of its user."""


class KnobRefusedError(KnobError):
    """The kernel would answer this write with an errno."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.errno = number


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums since time zero over one client, or over all."""

    app_bytes: float
    rpc_bytes: float
    rpcs: float
    rpc_usec: float
    flight_seconds: float
    dirty_byte_seconds: float
    events: int

    def __sub__(self, earlier: Totals) -> Totals:
        return Totals(*(getattr(self, f.name) - getattr(earlier, f.name) for f in fields(Totals)))

    def __add__(self, other: Totals) -> Totals:
        return Totals(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Totals)))


def client_space(cluster: Cluster) -> KnobSpace:
    """What the knobs of such a cluster's clients may do."""
    # 2.17 raised the least RPC size to 16 pages (64 KiB).
    pages_floor = 16 if cluster.lustre.version == "2.17" else 1
    ram_bytes = int(cluster.client.ram_gb * GIB)
    return lustre(ram_bytes, pages_floor=pages_floor, pages_ceiling=cluster.lustre.brw_pages)


class Simulation:
    """One world and its clock. OSCs are numbered client by client, OST by OST."""

    def __init__(self, plan: Plan) -> None:
        require_compiler()
        self.plan = plan
        self.world: World = assemble(plan)
        self.space = client_space(plan.cluster)
        for osc in range(self.oscs):
            self._store(osc, self.space.default)

    @property
    def now_s(self) -> float:
        """Virtual seconds since the start."""
        return float(self.world.sim.now_us[0]) / SECOND_US

    @property
    def done_s(self) -> float | None:
        """When the last task with an end reached it; None while one is at work, or if none has an end."""
        stream = self.world.stream
        ending = (stream.op_end > 0) & (stream.repeats == 0)
        if not ending.any() or (stream.mode[ending] != STOPPED).any():
            return None
        return float(stream.call_us[ending].max()) / SECOND_US

    @property
    def writing_ratio(self) -> float:
        """The share of the tasks with an end that write or wait for what they wrote; the others read.

        Who meets the others, or rests, goes on with what it did last.
        """
        stream, op = self.world.stream, self.world.op
        ending = np.flatnonzero((stream.op_end > 0) & (stream.repeats == 0))
        if not len(ending):
            return 0.0
        kind = op.kind[np.minimum(stream.op[ending], stream.op_end[ending] - 1)]
        neither = (kind == MEET) | (kind == REST)
        writes = np.where(neither, stream.direction[ending] == WRITE, (kind == WRITE) | (kind == SYNC))
        return float(writes.mean())

    @property
    def oscs(self) -> int:
        """How many OSCs there are on all clients together."""
        return int(self.world.osc.shape[0])

    def oscs_of(self, client: int) -> range:
        """The OSCs of one client."""
        osts = self.plan.cluster.layout.ost_count
        return range(client * osts, (client + 1) * osts)

    def run_until(self, t_s: float) -> None:
        """Let virtual time pass. Raises `PoolError` when a pool of records is full; the world is then unusable."""
        run_until(self.world, t_s * SECOND_US)
        full = POOLS[int(self.world.sim.full[0])]
        if full:
            size = len(getattr(self.world, full))
            at_s = float(self.world.sim.now_us[0]) / SECOND_US
            raise PoolError(f"simulated world: pool '{full}' is full ({size} records) at {at_s:.3f} s")

    def look(self, client: int) -> None:
        """Somebody reads a client's counters: that takes its processor's time, where that is modelled."""
        look(self.world, client)

    def become(self, other: Simulation) -> None:
        """Take over the whole state of a simulation of the same plan; both then go on independently."""
        for name in ARRAYS:
            np.copyto(getattr(self.world, name), getattr(other.world, name))

    def setting(self, osc: int) -> Setting:
        """What is in force on one OSC."""
        record = self.world.osc
        dirty = int(record.dirty_max[osc]) // PAGES_PER_MIB
        return Setting(pages=int(record.pages[osc]), flight=int(record.flight[osc]), dirty=dirty)

    def set(self, osc: int, wanted: Setting) -> Setting:
        """Write knobs in the kernel's order, with its refusals and side effects; returns what is in force."""
        try:
            self.space.check(wanted)
        except KnobError as error:
            raise KnobRefusedError(str(error), errno.ERANGE) from None
        self._store(osc, self.space.settle(self.setting(osc), wanted))
        return self.setting(osc)

    def set_all(self, wanted: Setting) -> None:
        """The same setting on every OSC of every client."""
        for osc in range(self.oscs):
            self.set(osc, wanted)

    def totals(self, client: int | None = None) -> Totals:
        w = self.world
        chosen = range(self.oscs) if client is None else self.oscs_of(client)
        account_range(w, chosen.start, chosen.stop, float(w.sim.now_us[0]))
        oscs = slice(chosen.start, chosen.stop)
        sums = w.sums[2 * chosen.start : 2 * chosen.stop].sum(axis=0)
        nodes = slice(None) if client is None else slice(client, client + 1)
        return Totals(
            app_bytes=float(w.client.read_bytes[nodes].sum() + w.client.write_bytes[nodes].sum()),
            rpc_bytes=float(sums[BYTES]),
            rpcs=float(sums[COUNT]),
            rpc_usec=float(sums[USEC]),
            flight_seconds=float(w.osc.flight_integral[oscs].sum()) / SECOND_US,
            dirty_byte_seconds=float(w.osc.dirty_integral[oscs].sum()) * PAGE / SECOND_US,
            events=int(w.sim.events[0]),
        )

    def lost_bytes(self, client: int | None = None) -> int:
        """Bytes that applications wrote and evictions threw away."""
        chosen = slice(None) if client is None else slice(*self._bounds(client))
        return int(self.world.osc.lost_pages[chosen].sum()) * PAGE

    def import_state(self, osc: int) -> str:
        """The connection of one OSC, in Lustre's words."""
        return IMPORT_WORDS[int(self.world.osc.state[osc])]

    def _bounds(self, client: int) -> tuple[int, int]:
        oscs = self.oscs_of(client)
        return oscs.start, oscs.stop

    def _store(self, osc: int, setting: Setting) -> None:
        dirty_pages = setting["dirty"] * PAGES_PER_MIB
        apply_knobs(self.world, osc, setting["pages"], setting["flight"], dirty_pages)
