"""A mount's readahead: what applications read of it, what its data paths carried for that, and its knobs.

The mount counts what applications call; what went over the wire is counted by its data paths alone. So a snapshot is
made in two steps: `ReadaheadParser` reads the mount's own files, `with_carried` adds the sums over its data paths.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from penstock.knobs.target_kind import DATA_PATH
from penstock.observe.lustre.known_rows import KnownRows
from penstock.observe.lustre.metadata import MetadataParser, Texts
from penstock.observe.lustre.stats import parse_stats
from penstock.snapshot import Target, TargetSnapshot
from penstock.target_kinds import LUSTRE_READAHEAD

# What data paths count, by what it is for their mount.
_CARRIED = {
    "read.carried_bytes": "read.bytes",
    "write.bytes": "write.bytes",
    "write.rpcs": "write.rpcs",
    "write.usec": "write.usec",
}


class ReadaheadParser(MetadataParser):
    """The texts of one mount: how much applications read, in how many calls, how long these took, and its knobs.

    Calls of write return as soon as the page cache has the data, so what was written is left to the data paths.
    """

    def __init__(self, target: Target, knobs: Mapping[str, str]) -> None:
        super().__init__(target, knobs)
        self._known = KnownRows(("read_bytes", "read"))

    def parse(self, t_s: float, texts: Texts) -> TargetSnapshot:
        stats, *knobs = texts
        counters = dict.fromkeys(("read.bytes", "read.rpcs", "read.usec"), math.nan)
        epoch = ""
        if stats is not None:
            found = parse_stats(stats, "llite stats")
            if self._trusted(found, self._known, "stats"):
                epoch = f"{found.start_time}/{self._known.clearings}"
                calls, times = found.rows.get("read_bytes"), found.rows.get("read")
                counters["read.bytes"] = float(calls.total or 0) if calls is not None else 0.0
                counters["read.rpcs"] = float(calls.count) if calls is not None else 0.0
                counters["read.usec"] = float(times.total or 0) if times is not None else 0.0
        return TargetSnapshot(self.target, t_s, self._setting(knobs), counters, {}, epoch, "")


def with_carried(seen: Sequence[TargetSnapshot]) -> list[TargetSnapshot]:
    """The same snapshots, those of readahead with what the data paths of their mounts carried.

    A data path that is missing, new or connected anew begins another epoch, because sums cannot be compared then.
    """
    return [_summed(one, seen) if one.target.kind == LUSTRE_READAHEAD else one for one in seen]


def _summed(one: TargetSnapshot, seen: Iterable[TargetSnapshot]) -> TargetSnapshot:
    paths = [path for path in seen if path.target.kind == DATA_PATH and path.target.mount == one.target.mount]
    sums = {
        name: sum((path.counters.get(counted, 0.0) for path in paths), 0.0)
        for name, counted in _CARRIED.items()
    }
    members = zlib.crc32(" ".join(f"{path.target.name} {path.epoch}" for path in paths).encode())
    return replace(one, counters={**one.counters, **sums}, epoch=f"{one.epoch}/{members}")
