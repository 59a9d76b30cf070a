"""A storage target as the smallest queueing model that has an optimum: a delay and one server.

`flight` requests circulate: each spends a fixed latency on its way, then queues for a server that needs an
overhead per request and a time per byte. Mean value analysis gives the exact throughput of that closed
network (exponential service). Requests are as large as `pages` allows, but never larger than
the application's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from penstock.decision import Receipt
from penstock.knobs import KnobSpace, Setting
from penstock.snapshot import NodeSnapshot, Target, TargetSnapshot
from penstock.spaces import LUSTRE
from penstock.units import PAGE_BYTES

TARGET = Target("demo-OST0000-osc-0", "demo", "OST0000")


@dataclass(frozen=True, slots=True)
class Load:
    """The world around the target from `start_s` on: what is asked of it and how far away it is."""

    start_s: float
    request_bytes: int
    latency_s: float


@dataclass(frozen=True, slots=True)
class Hardware:
    """The server: bytes per second, cost per request, and the relative spread of its rate."""

    bytes_per_s: float
    overhead_s: float
    noise: float


@dataclass(slots=True)
class QueueingTarget:
    """One simulated node with one target: clock, observer and actuator in a single object."""

    hardware: Hardware
    loads: Sequence[Load]
    seed: int
    knobs: KnobSpace = LUSTRE
    target: Target = TARGET
    _now_s: float = 0.0
    _setting: Setting = field(default_factory=lambda: LUSTRE.default)
    _original: Setting = field(default_factory=lambda: LUSTRE.default)
    _totals: dict[str, float] = field(
        default_factory=lambda: {"write.rpcs": 0.0, "write.bytes": 0.0, "write.usec": 0.0}
    )
    _slice: int = 0

    SLICE_S = 0.05

    def now(self) -> float:
        return self._now_s

    def sleep_until(self, t_s: float) -> None:
        """Let the target work until then, slice by slice, at the setting in force."""
        while self._now_s < t_s - 1e-9:
            seconds = min(self.SLICE_S, t_s - self._now_s)
            self._work(seconds)
            self._now_s += seconds

    def observe(self) -> NodeSnapshot:
        """The counters a client would show."""
        seen = TargetSnapshot(self.target, self._now_s, self._setting, dict(self._totals))
        return NodeSnapshot(self._now_s, (seen,), system="queueing")

    def space(self, target: Target) -> KnobSpace:
        """The same three knobs a Lustre client has."""
        return self.knobs

    def get(self, target: Target) -> Setting:
        return self._setting

    def original(self, target: Target) -> Setting:
        """The start."""
        return self._original

    def set(self, target: Target, wanted: Setting) -> Receipt:
        """Take the knobs with the system's own side effects."""
        self._setting = self.knobs.settle(self._setting, wanted)
        return Receipt(target, wanted, self._setting)

    def restore(self, target: Target) -> Receipt:
        """Back to the start."""
        self._setting = self._original
        return Receipt(target, self._original, self._setting)

    def _work(self, seconds: float) -> None:
        load = next(load for load in reversed(self.loads) if load.start_s <= self._now_s + 1e-9)
        request_bytes = min(load.request_bytes, self._setting["pages"] * PAGE_BYTES)
        # Each slice has its own generator: whatever was decided before, equal times see equal noise.
        rng = Random(f"{self.seed}/{self._slice}")
        self._slice += 1
        rate = self.hardware.bytes_per_s * math.exp(rng.gauss(0.0, self.hardware.noise))
        service_s = self.hardware.overhead_s + request_bytes / rate
        rpcs, residence_s = closed_network(self._setting["flight"], load.latency_s, service_s)
        self._totals["write.rpcs"] += rpcs * seconds
        self._totals["write.bytes"] += rpcs * seconds * request_bytes
        self._totals["write.usec"] += rpcs * seconds * residence_s * 1e6


def closed_network(customers: int, delay_s: float, service_s: float) -> tuple[float, float]:
    """Throughput and time per round of customers that alternate between a delay and one exponential server.

    >>> throughput, residence_s = closed_network(1, 0.003, 0.001)
    >>> round(throughput, 6), round(residence_s, 6)
    (250.0, 0.004)
    """
    queue, throughput, residence_s = 0.0, 0.0, delay_s + service_s
    for present in range(1, customers + 1):
        at_server_s = service_s * (1.0 + queue)
        residence_s = delay_s + at_server_s
        throughput = present / residence_s
        queue = throughput * at_server_s
    return throughput, residence_s
