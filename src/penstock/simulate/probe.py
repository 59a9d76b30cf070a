"""The simulator through the same ports as a real client: clock, observer and actuator in virtual time."""

from __future__ import annotations

from penstock.decision import Receipt
from penstock.errors import MissingError
from penstock.knobs import KnobSpace, Setting
from penstock.simulate.kernel.counters import BYTES, COUNT, USEC
from penstock.simulate.kernel.records import PAGE
from penstock.simulate.simulation import KnobRefusedError, Simulation
from penstock.snapshot import NodeSnapshot, Target, TargetSnapshot

FS = "penstock"
DIRECTIONS = ("read", "write")


class Probe:
    """One client node of a simulation. Sleeping lets the whole simulated cluster work."""

    def __init__(self, simulation: Simulation, client: int = 0) -> None:
        self.simulation = simulation
        self.client = client
        self._oscs = {self._target(osc): osc for osc in simulation.oscs_of(client)}
        self._originals: dict[Target, Setting] = {}

    def now(self) -> float:
        return self.simulation.now_s

    def sleep_until(self, t_s: float) -> None:
        """Let the cluster work until then."""
        if t_s > self.simulation.now_s:
            self.simulation.run_until(t_s)

    def observe(self) -> NodeSnapshot:
        """What the client's counters, gauges and knobs say now."""
        self.simulation.look(self.client)
        client = self.simulation.world.client
        app = {
            "app.read_bytes": float(client.read_bytes[self.client]),
            "app.write_bytes": float(client.write_bytes[self.client]),
            "app.read_calls": float(client.read_calls[self.client]),
            "app.write_calls": float(client.write_calls[self.client]),
            "app.opens": float(client.opens[self.client]),
            "app.closes": float(client.closes[self.client]),
            "app.fsyncs": float(client.fsyncs[self.client]),
            "app.fsync_usec": float(client.fsync_us[self.client]),
        }
        targets = tuple(self._snapshot(target, osc) for target, osc in self._oscs.items())
        version = self.simulation.plan.cluster.lustre.version
        return NodeSnapshot(self.now(), targets, {FS: app}, system="simulated lustre", version=version)

    def space(self, target: Target) -> KnobSpace:
        """The knobs, within the bounds of the simulated version and its memory."""
        self._osc(target)
        return self.simulation.space

    def get(self, target: Target) -> Setting:
        return self.simulation.setting(self._osc(target))

    def original(self, target: Target) -> Setting | None:
        """What was in force before the first `set`; None before that."""
        return self._originals.get(target)

    def set(self, target: Target, wanted: Setting) -> Receipt:
        """Write the knobs as a kernel takes them: refusals, rounding and side effects included."""
        osc = self._osc(target)
        self._originals.setdefault(target, self.get(target))
        try:
            return Receipt(target, wanted, self.simulation.set(osc, wanted))
        except KnobRefusedError as error:
            return Receipt(target, wanted, self.get(target), str(error))

    def restore(self, target: Target) -> Receipt:
        """Back to what was in force before the first `set`."""
        original = self._originals.pop(target, self.get(target))
        return Receipt(target, original, self.simulation.set(self._osc(target), original))

    def _osc(self, target: Target) -> int:
        if target not in self._oscs:
            raise MissingError(f"{target.name}: no such target on simulated client {self.client}")
        return self._oscs[target]

    def _target(self, osc: int) -> Target:
        ost = f"OST{int(self.simulation.world.osc.ost[osc]):04x}"
        return Target(f"{FS}-{ost}-osc-ffff8880{self.client:08x}", FS, ost)

    def _snapshot(self, target: Target, osc: int) -> TargetSnapshot:
        w = self.simulation.world
        counters: dict[str, float] = {}
        for direction, name in enumerate(DIRECTIONS):
            row = w.sums[2 * osc + direction]
            counters[f"{name}.rpcs"] = float(row[COUNT])
            counters[f"{name}.bytes"] = float(row[BYTES])
            counters[f"{name}.usec"] = float(row[USEC])
        gauges = {
            "dirty.bytes": float(w.osc.dirty[osc]) * PAGE,
            "grant.bytes": float(w.osc.grant_bytes[osc]),
            "brw.bytes": float(self.simulation.plan.cluster.lustre.brw_pages * PAGE),
        }
        epoch = int(w.osc.generation[osc])
        state = self.simulation.import_state(osc)
        return TargetSnapshot(target, self.now(), self.get(target), counters, gauges, epoch, state)
