"""The state of a simulated cluster: arrays of records, one array per kind of thing, indexed by integers.

Every entity carries its own hardware parameters, so that two OSTs or two clients may differ. Times are
microseconds, sizes pages of 4 KiB unless a name says otherwise, -1 means "none". Directions are 0 (read)
and 1 (write). The fields are in `client_records` and `server_records`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.simulate.kernel.client_records import (
    BLOCK,
    CLIENT,
    EXTENT,
    FILE,
    GATE,
    HANDLE,
    LINE_BYTES,
    LRU,
    OP,
    OSC,
    STREAM,
    F,
    I,
    N,
    record,
)
from penstock.simulate.kernel.server_records import CORE, FAULT, LINK, LOCK, NIC, OSS, OST, RPC, SSD

READ, WRITE = 0, 1
NONE = -1
PAGE = 4096
# No file has more pages: their numbers are 32 bits wide.
LAST_PAGE = (1 << 31) - 1

Records = np.recarray[Any, Any]

SIM = record(
    ("now_us", F),  # the time of the event that happens
    ("until_us", F),  # when this run ends
    ("pending", I),  # events in the calendar
    ("today", I),  # the day up to which they are in its heap
    ("heap_size", I),  # how many are there
    ("event_free", I),  # the first free record of those for later days
    ("event_used", I),  # records of those that were used once
    ("foresees", I),  # 1 if the world is so large that records are fetched ahead of their events
    ("foreseen", I),  # the last day on which that was done
    ("scheduled", I),  # events scheduled so far: the next one's order
    ("events", I),  # events that have happened
    ("rpc_free", I),  # the first free record of a pool
    ("ext_free", I),
    ("ext_used", I),  # extents that were used once
    ("lock_free", I),
    ("full", I),  # ROOMY, or the pool that ran out
    ("traced", I),  # 1 if every event is folded into `trace`
    ("paced", I),  # 1 if processors are modelled
)
EVENT = record(
    ("t_us", F),
    ("order", I),  # breaks ties: the order of scheduling
    ("kind", N),  # what happens, see `calendar`
    ("subject", N),  # to whom: a stream, an RPC, an OST, ...
    fill=32,  # so that none lies across two cache lines
)

# What `sim.full` says: nothing, or the pool from which one more was asked for than there are. A world in which that
# happened is of no use any more, and no kernel goes on in it.
ROOMY, EVENTS_FULL, EXTENTS_FULL, RPCS_FULL, LOCKS_FULL, RUNS_FULL = range(6)
# The arrays behind these, by that number.
POOLS = ("", "event", "extent", "rpc", "lock", "lru")

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]
Small = np.ndarray[Any, np.dtype[np.int32]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]

# Every array by name: its element type and number of dimensions.
ARRAYS: dict[str, tuple[np.dtype[Any], int]] = {
    "sim": (SIM, 1),
    "event": (EVENT, 1),
    "following": (np.dtype("i4"), 1),  # the next event of the same day, or among the free
    "heap": (EVENT, 1),
    "day": (np.dtype("i4"), 1),
    "client": (CLIENT, 1),
    "osc": (OSC, 1),
    "file": (FILE, 1),
    "stream": (STREAM, 1),
    "extent": (EXTENT, 1),
    "rpc": (RPC, 1),
    "oss": (OSS, 1),
    "ost": (OST, 1),
    "ssd": (SSD, 1),
    "nic": (NIC, 1),
    "link": (LINK, 1),
    "core": (CORE, 1),
    "lru": (LRU, 1),
    "op": (OP, 1),
    "handle": (HANDLE, 1),
    "gate": (GATE, 1),
    "lock": (LOCK, 1),
    "fault": (FAULT, 1),
    "credit": (np.dtype("f8"), 2),
    "foreign": (np.dtype("f8"), 2),
    "rng": (np.dtype("i8"), 2),
    "page_state": (np.dtype("u1"), 1),
    "page_extent": (np.dtype("i4"), 1),
    "block": (BLOCK, 1),
    "index2": (np.dtype("i4"), 1),
    "index3": (np.dtype("i4"), 1),
    "sums": (np.dtype("f8"), 2),
    "pages_histogram": (np.dtype("i8"), 2),
    "flight_histogram": (np.dtype("i8"), 2),
    "trace": (np.dtype("i8"), 1),
}
TABLE_COLUMNS = 3  # address, first and second length


class World:
    """Everything a kernel may touch. Made by `penstock.simulate.assembly`; its arrays never move."""

    sim: Records
    event: Records
    following: Small
    heap: Records
    day: Small
    client: Records
    osc: Records
    file: Records
    stream: Records
    extent: Records
    rpc: Records
    oss: Records
    ost: Records
    ssd: Records
    nic: Records
    link: Records
    core: Records
    lru: Records
    op: Records
    handle: Records
    gate: Records
    lock: Records
    fault: Records
    credit: Floats
    foreign: Floats
    rng: Integers
    page_state: Bytes
    page_extent: Small
    block: Records
    index2: Small
    index3: Small
    sums: Floats
    pages_histogram: Integers
    flight_histogram: Integers
    trace: Integers

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.table = np.zeros((len(ARRAYS), TABLE_COLUMNS), np.int64)
        for row, (name, (dtype, dimensions)) in enumerate(ARRAYS.items()):
            shape = shapes[name]
            if len(shape) != dimensions:
                raise ValueError(f"{name} has {dimensions} dimensions")
            array = _aligned(shape, dtype)
            setattr(self, name, array if dtype.names is None else array.view(np.recarray))
            self.table[row, 0] = array.ctypes.data
            self.table[row, 1 : 1 + dimensions] = shape
        self.address = int(self.table.ctypes.data)


def _aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Zeros that begin with a cache line, so that records of whole lines touch no line more than they must."""
    size = math.prod(shape) * dtype.itemsize
    buffer = np.zeros(size + LINE_BYTES, np.uint8)
    first = -buffer.ctypes.data % LINE_BYTES
    return buffer[first : first + size].view(dtype).reshape(shape)


def blank_arrays() -> dict[str, np.ndarray[Any, Any]]:
    """One empty array of each kind, as the compiler needs them to learn their types."""
    made = {name: np.zeros((1,) * dimensions, dtype) for name, (dtype, dimensions) in ARRAYS.items()}
    return {
        name: array if array.dtype.names is None else array.view(np.recarray) for name, array in made.items()
    }
