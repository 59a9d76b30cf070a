"""Workloads by name: streams, direction, order and request size in one short word."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from penstock.errors import UsageError, did_you_mean
from penstock.units import GIB, parse_size

_NAME = re.compile(r"(?P<streams>[sf])_(?P<direction>rd|wr)_(?P<order>sq|rn)_(?P<size>[0-9]+[kmg]?)")
NAMES = tuple(
    "_".join(parts) for parts in itertools.product("sf", ("rd", "wr"), ("sq", "rn"), ("8k", "1m", "16m"))
)
# The patterns that models are trained on.
SINGLE_STREAM = tuple(name for name in NAMES if name.startswith("s_"))


@dataclass(frozen=True, slots=True)
class Workload:
    """What an application does to its files, independent of where it runs.

    Each stream is one thread on one file of its own. `cache_bytes` is the client page cache the workload is
    run with (a setting of the experiment, as the traces' authors ran it). After every `active_s` of work the
    streams rest for `idle_s`; an active time of zero means they never rest.
    """

    name: str
    streams: int
    read_ratio: float
    sequential: bool
    request_bytes: int
    file_bytes: int
    cache_bytes: int
    think_s: float = 0.0
    active_s: float = 0.0
    idle_s: float = 0.0

    @property
    def direction(self) -> str:
        """The direction that moves more requests."""
        return "read" if self.read_ratio >= 0.5 else "write"


def parse_workload(name: str) -> Workload:
    """The workload `[s|f]_[rd|wr]_[sq|rn]_[SIZE]` with the file and cache sizes of the CARAT traces.

    Reads go over 10 GB files with a 1 GB page cache, writes over one 5 GB file or five of 1 GB with 90 GB.

    >>> parse_workload("f_wr_rn_1m").streams, parse_workload("s_rd_sq_8k").request_bytes
    (5, 8192)
    """
    match = _NAME.fullmatch(name)
    if match is None:
        hint = did_you_mean(name, NAMES) or "; names look like s_wr_rn_1m"
        raise UsageError(f"unknown workload {name!r}{hint}")
    streams = 1 if match["streams"] == "s" else 5
    reading = match["direction"] == "rd"
    write_file_bytes = 5 * GIB if streams == 1 else GIB
    return Workload(
        name=name,
        streams=streams,
        read_ratio=1.0 if reading else 0.0,
        sequential=match["order"] == "sq",
        request_bytes=parse_size(match["size"]),
        file_bytes=10 * GIB if reading else write_file_bytes,
        cache_bytes=GIB if reading else 90 * GIB,
    )
