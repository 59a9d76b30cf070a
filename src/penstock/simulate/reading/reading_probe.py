"""Observer and actuator over a simulated reader: its mount's readahead, and its data path."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from penstock.decision import Receipt
from penstock.knobs import KnobSpace, Setting
from penstock.knobs.target_kind import DATA_PATH
from penstock.simulate.reading.reading_client import ReadingClient
from penstock.snapshot import NodeSnapshot, Target, TargetSnapshot
from penstock.spaces import lustre, readahead
from penstock.target_kinds import LUSTRE_READAHEAD

FS, MOUNT = "sim", "sim-ffff888000000000"
# Requests of fewer pages are not simulated here.
LEAST_PAGES = 16


@dataclass(slots=True)
class ReadingProbe:
    """One client as its agent sees it. `with_data_path` says whether its data path is a target, too."""

    client: ReadingClient
    with_data_path: bool = False
    targets: tuple[Target, ...] = field(init=False)
    _original: Setting = field(init=False)

    def __post_init__(self) -> None:
        kind = LUSTRE_READAHEAD
        path = Target(f"{FS}-OST0000-osc-ffff888000000000", FS, "OST0000", MOUNT)
        self.targets = (Target(f"{MOUNT}-{kind.name}", FS, kind.name, MOUNT, kind),)
        self.targets += (path,) if self.with_data_path else ()
        self._original = self.client.setting

    def now(self) -> float:
        return self.client.engine.now_s

    def sleep_until(self, t_s: float) -> None:
        """Let the client go on."""
        self.client.engine.run_until(t_s)

    def observe(self) -> NodeSnapshot:
        """The counters a client would show."""
        t_s, reads = self.now(), self.client.reads
        asked = {
            "read.bytes": float(reads.bytes),
            "read.rpcs": float(reads.calls),
            "read.usec": reads.usec,
            "read.carried_bytes": float(self.client.carried_bytes),
        }
        snapshots = [
            TargetSnapshot(target, t_s, self.get(target), self._carried() if one else asked, self._gauges(one))
            for one, target in enumerate(self.targets)
        ]
        app = {"app.read_bytes": asked["read.bytes"], "app.read_calls": asked["read.rpcs"], "app.since_s": 0.0}
        return NodeSnapshot(t_s, tuple(snapshots), {MOUNT: app}, system="simulated")

    def space(self, target: Target) -> KnobSpace:
        """The target's knobs."""
        ram_bytes = round(self.client.cluster.client.ram_gb * 1e9)
        if target.kind == DATA_PATH:
            return lustre(ram_bytes, pages_floor=LEAST_PAGES, pages_ceiling=self.client.cluster.lustre.brw_pages)
        return readahead(ram_bytes)

    def get(self, target: Target) -> Setting:
        return self.client.setting.only(*self.space(target).ids)

    def original(self, target: Target) -> Setting:
        """The start."""
        return self._original.only(*self.space(target).ids)

    def set(self, target: Target, wanted: Setting) -> Receipt:
        """Take the knobs with the system's own side effects."""
        before = self.get(target)
        self.client.set(self.client.setting.replace(self.space(target).settle(before, wanted)))
        return Receipt(target, wanted, self.get(target), before=before)

    def restore(self, target: Target) -> Receipt:
        """Back to the start."""
        self.client.set(self.client.setting.replace(self.original(target)))
        return Receipt(target, self.original(target), self.get(target))

    def _carried(self) -> dict[str, float]:
        traffic = [path.traffic for path in self.client.paths]
        return {
            "read.rpcs": float(sum(one.requests for one in traffic)),
            "read.bytes": float(sum(one.bytes for one in traffic)),
            "read.usec": sum(one.usec for one in traffic),
        }

    def _gauges(self, is_path: int) -> dict[str, float]:
        least = min(path.traffic.least_usec for path in self.client.paths)
        return {"round_trip.usec": least} if is_path and least < math.inf else {}
