"""Observer and actuator over simulated metadata: a client's two targets, the connection and the statahead."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random

from penstock.decision import Receipt
from penstock.knobs import KnobSpace, Setting
from penstock.simulate.cluster import Cluster
from penstock.simulate.metadata.metadata_client import MetadataClient, Server
from penstock.simulate.metadata.virtual_time import Timeline
from penstock.simulate.metadata.workloads import LISTED_FILES, MetadataWorkload
from penstock.snapshot import NodeSnapshot, Target, TargetSnapshot
from penstock.spaces import mdc, statahead
from penstock.target_kinds import MDC, STATAHEAD

FS = "sim"


@dataclass(slots=True)
class MetadataWorld:
    """Clients of one metadata server, all with the same work."""

    cluster: Cluster
    work: MetadataWorkload
    clients: int = 1
    seed: int = 1
    engine: Timeline = field(default_factory=Timeline)
    members: list[MetadataClient] = field(init=False)

    def __post_init__(self) -> None:
        about, rng = self.cluster.metadata, Random(f"metadata/{self.seed}")
        server = Server(self.engine, about, self.cluster.network.round_trip_us * 1e-6, rng)
        self.members = [MetadataClient(server) for _ in range(self.clients)]
        for client in self.members:
            for _ in range(self.work.threads):
                self.engine.start(client.thread(self.work.what, LISTED_FILES))

    def probe(self, client: int = 0) -> MetadataProbe:
        """Clock, observer and actuator of one client."""
        return MetadataProbe(self, client)


@dataclass(slots=True)
class MetadataProbe:
    """One client as its agent sees it."""

    world: MetadataWorld
    client: int
    targets: tuple[Target, Target] = field(init=False)
    _original: Setting = field(init=False)

    def __post_init__(self) -> None:
        instance = f"ffff8880{self.client:08x}"
        mount = f"{FS}-{instance}"
        self.targets = (
            Target(f"{FS}-MDT0000-mdc-{instance}", FS, "MDT0000", mount, MDC),
            Target(f"{mount}-statahead", FS, "statahead", mount, STATAHEAD),
        )
        self._original = self._member.setting

    @property
    def _member(self) -> MetadataClient:
        return self.world.members[self.client]

    def now(self) -> float:
        return self.world.engine.now_s

    def sleep_until(self, t_s: float) -> None:
        """Let the whole world go on."""
        self.world.engine.run_until(t_s)

    def observe(self) -> NodeSnapshot:
        """The counters a client would show."""
        one, t_s = self._member, self.now()
        requests = {
            "query.ops": float(one.looked.count),
            "query.rpcs": float(one.looked.count),
            "query.usec": one.looked.usec,
            "modify.ops": float(one.changed.count),
            "modify.rpcs": float(one.changed.count + one.closed.count),
            "modify.usec": one.changed.usec + one.closed.usec,
        }
        calls = {
            "query.ops": float(one.app_looked.count),
            "query.rpcs": float(one.app_looked.count),
            "query.usec": one.app_looked.usec,
            "modify.ops": float(one.app_changed.count),
            "modify.rpcs": float(one.app_changed.count),
            "modify.usec": one.app_changed.usec,
        }
        connection, mount = self.targets
        gauges = {"round_trip.usec": one.least_usec} if one.least_usec < math.inf else {}
        seen = (
            TargetSnapshot(connection, t_s, self.get(connection), requests, gauges),
            TargetSnapshot(mount, t_s, self.get(mount), calls),
        )
        return NodeSnapshot(t_s, seen, system="simulated")

    def space(self, target: Target) -> KnobSpace:
        """The target's knobs, within what the server allows."""
        return mdc(self.world.cluster.metadata.mod_rpcs) if target.kind == MDC else statahead()

    def get(self, target: Target) -> Setting:
        return self._member.setting.only(*self.space(target).ids)

    def original(self, target: Target) -> Setting:
        """The start."""
        return self._original.only(*self.space(target).ids)

    def set(self, target: Target, wanted: Setting) -> Receipt:
        """Take the knobs with the system's own side effects."""
        before = self.get(target)
        self._member.set(self._member.setting.replace(self.space(target).settle(before, wanted)))
        return Receipt(target, wanted, self.get(target), before=before)

    def restore(self, target: Target) -> Receipt:
        """Back to the start."""
        self._member.set(self._member.setting.replace(self.original(target)))
        return Receipt(target, self.original(target), self.get(target))
