"""The state of a simulated cluster: arrays of records, one array per kind of thing, indexed by integers.

Every entity carries its own hardware parameters, so that two OSTs or two clients may differ. Times are
microseconds, sizes pages of 4 KiB unless a name says otherwise, -1 means "none". Directions are 0 (read)
and 1 (write).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

READ, WRITE = 0, 1
NONE = -1
PAGE = 4096

Records = np.recarray[Any, Any]
Fields = tuple[tuple[str, str], ...]


def fields(floats: str = "", integers: str = "") -> np.dtype[Any]:
    """A record type from two lists of names."""
    named = [(name, "f8") for name in floats.split()] + [(name, "i8") for name in integers.split()]
    return np.dtype(named, align=True)


SIM = fields("now_us until_us", "heap_size scheduled events rpc_free ext_free ext_used lock_free full paced")
HEAP = fields("t_us", "order kind subject")

CLIENT = fields(
    "read_call_us read_copy_us_page read_submit_us_page read_demand_us_page write_call_us write_new_us_page "
    "write_over_us_page "
    "wake_us build_read_us build_write_us build_write_us_page build_write_us_extent reply_read_us reply_write_us "
    "reply_us_page lru_free_us_page flush_every_us flush_age_us extent_tax_bytes grant_step_bytes "
    "slice_us message_us send_us_page receive_us_page observe_us work_exponential",
    "nic core cores working rng stride cached_max cached ra_max ra_refill ra_whole osts dirty dirty_max first_file "
    "read_calls read_bytes read_min read_max write_calls write_bytes write_min write_max",
)
OSC = fields(
    "grant_bytes grant_total_bytes grant_max_bytes build_free_us touched_us flight_integral "
    "dirty_integral busy_integral grant_initial_bytes",
    "client ost mppr flight dirty_max dirty reads writes waiters first_file cursor lru_base lru_size lru_head "
    "lru_count lru_pages high_priority generation build_pending state lost_pages evictions timer",
)
FILE = fields(
    "dirtied_us",
    "osc pages state_base ext_base index1_base index2_base index3_base next_in_osc next_in_client "
    "hp_head hp_tail urgent_head urgent_tail full_head full_tail cached_extents reading_head reading_tail "
    "locked_head locked_tail locks_waiting locks_scattered first_stream home shared "
    "lock filling lock_head lock_count lock_room wanted_head wanted_tail called_back touched_low touched_high "
    "disk_page writing",
)
STREAM = fields(
    "read_ratio think_us start_us stop_us active_us idle_us phase_us call_us owed_us",
    "client file sequential request rng mode busy cursor end begin direction position_read position_write "
    "wait_page active_ext ra_start ra_next ra_window ra_end_of_last reads_done cache_pages sync blocked next_in_file "
    "lock next_wanted call_bytes op op_first op_end op_done repeats paused handle turn flushes "
    "read_calls read_bytes write_calls write_bytes",
)
# One instruction of a scripted stream, some open files of it, and the places where such streams meet.
OP = fields("at_us think_us", "kind handle fan page pages bytes count stride")
HANDLE = fields("", "file ra_start ra_next ra_window ra_end_of_last reads_done")
GATE = fields("", "first streams level limit turn")
EXTENT = fields("ready_us", "grant_bytes file start pages mppr state kind prev next max_end lock")
RPC = fields(
    "sent_us handed_us work_us queued_us first_us last_us ready_us hand_us replied_us",
    "direction osc file pages bytes fragments extents low high ext_head ext_tail next lock_prev lock_next locked "
    "short lost dead sent sent_before received",
)
OSS = fields(
    "request_us request_exponential reply_us page_us fragment_us message_us send_us_page receive_us_page "
    "work_exponential",
    "nic core cores acknowledged threads busy queue_head queue_tail rng",
)
OST = fields("journal_every_us journal_us slow timeout_us", "oss ssd written range_lock down")
SSD = fields(
    "free_us read_rpc_us read_us_page write_rpc_us write_us_page fragment_us ramp ramp_max_us spread "
    "random_read_us write_latency_us mixed read_work_us write_work_us busy_us "
    "write_buffer_us bus_free_us rotation_us track_us stroke_us",
    "near_pages last_page last_file queue_depth capacity_pages queue_head queue_tail serving foreign_pages",
)
NIC = fields("us_per_byte send_free_us receive_free_us")
LINK = fields("latency_us us_per_byte free_us", "turn")
CORE = fields("free_us busy_us")
LRU = fields("", "file start pages")
LOCK = fields("", "file low high direction state users extents called heard next")
FAULT = fields("begin_us end_us factor gap_us", "kind ost client pages writing depth turn rng active")


# What `sim.full` says: nothing, or the pool from which one more was asked for than there are. A world in which that
# happened is of no use any more, and no kernel goes on in it.
ROOMY, EVENTS_FULL, EXTENTS_FULL, RPCS_FULL, LOCKS_FULL, RUNS_FULL = range(6)
# The arrays behind these, by that number.
POOLS = ("", "heap", "extent", "rpc", "lock", "lru")

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]
Small = np.ndarray[Any, np.dtype[np.int32]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]

# Every array by name: its element type and number of dimensions.
ARRAYS: dict[str, tuple[np.dtype[Any], int]] = {
    "sim": (SIM, 1),
    "heap": (HEAP, 1),
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
    "index1": (np.dtype("i4"), 1),
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
    heap: Records
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
    index1: Small
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
            array = np.zeros(shape, dtype)
            setattr(self, name, array if dtype.names is None else array.view(np.recarray))
            self.table[row, 0] = array.ctypes.data
            self.table[row, 1 : 1 + dimensions] = shape
        self.address = int(self.table.ctypes.data)


def blank_arrays() -> dict[str, np.ndarray[Any, Any]]:
    """One empty array of each kind, as the compiler needs them to learn their types."""
    made = {name: np.zeros((1,) * dimensions, dtype) for name, (dtype, dimensions) in ARRAYS.items()}
    return {
        name: array if array.dtype.names is None else array.view(np.recarray) for name, array in made.items()
    }
