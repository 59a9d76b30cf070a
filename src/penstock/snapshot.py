"""What was seen of a node at one instant: cumulative counters, gauges and settings, target by target.

Counters and gauges are keyed by metric name, so that any file system fits. The names in use:

- counters of a target, per direction `read` and `write`: `read.rpcs`, `read.bytes`, `read.usec` (completed
  requests, the bytes they carried, and the sum of their times on the wire);
- counters of a target of metadata, per way of work `query` and `modify`: `query.ops`, `query.rpcs`, `query.usec`;
  as a gauge, `round_trip.usec`, the least that any request took;
- gauges of a target: `dirty.bytes`, `grant.bytes`, `brw.bytes`; where the system says them, the limit of the first,
  `dirty.limit_bytes`, and how many requests are, or may be, in flight now, `flight.requests`, `flight.slots`;
- counters of a node, per mount: `app.read_bytes`, `app.write_bytes` (what applications asked for),
  `app.read_calls`, `app.write_calls` (in how many calls), `app.opens`, `app.closes`, `app.fsyncs`,
  `app.fsync_usec` (files opened and closed, calls of fsync and the sum of their times, where the system counts them),
  `app.since_s` (when these began to count), `readahead.*` by the system's own names.

A counter that is absent was not printed yet and counts as zero; one that is NaN is there but not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from penstock.knobs import Setting, TargetKind
from penstock.knobs.target_kind import DATA_PATH

NOTHING: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """One thing with knobs of its own. The name is unique on its node for the life of its mount.

    `mount` is its mount's key in `NodeSnapshot.mounts`, where that is not simply the file system's name.
    """

    name: str
    fs: str
    resource: str = ""
    mount: str = ""
    kind: TargetKind = field(default=DATA_PATH, repr=False)

    def __hash__(self) -> int:
        # Targets are looked up many times an interval, and the name alone tells nearly all of them apart.
        return hash(self.name)


@dataclass(frozen=True, slots=True)
class TargetSnapshot:
    """One target at one instant of the monotonic clock.

    `epoch` changes whenever the counters may have started anew or the connection was lost; two snapshots with
    different epochs cannot be compared. `state` is the system's own word for the connection, empty where it
    cannot be read.
    """

    target: Target
    t_s: float
    setting: Setting
    counters: Mapping[str, float] = field(default_factory=dict)
    gauges: Mapping[str, float] = field(default_factory=dict)
    epoch: int | str = 0
    state: str = "FULL"
    active: bool = True


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read, said once, in words an administrator understands."""

    source: str
    message: str


@dataclass(frozen=True, slots=True)
class NodeSnapshot:
    """All targets of a node at (nearly) one instant, the mounts' own counters, and what could not be read."""

    t_s: float
    targets: tuple[TargetSnapshot, ...]
    mounts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    system: str = ""
    version: str | None = None
