"""The calendar: a binary heap of (time, order of scheduling, what, to whom).

Ties in time are broken by the order of scheduling, so a run is determined by its inputs.
"""

from __future__ import annotations

from penstock.simulate.kernel.compiler import entry, kernel
from penstock.simulate.kernel.records import EVENTS_FULL, World

# What can happen. The argument is a stream, an RPC, a client or an OST, as noted.
STREAM_RUNS = 0  # stream
REQUEST_ARRIVES = 1  # rpc, at its OSS
BULK_ARRIVES = 2  # rpc, write data at its OSS
DEVICE_DONE = 3  # rpc
REPLY_ARRIVES = 4  # rpc, at its client
FLUSHER_RUNS = 5  # client
JOURNAL_COMMITS = 6  # ost
BUILDER_IS_FREE = 7  # osc
LOCK_WANTED = 8  # stream, at the OST
LOCK_ARRIVES = 9  # stream, at its client
LOCK_CALLED_BACK = 10  # lock, at its client
LOCK_CANCELLED = 11  # lock, at the OST
FAULT_BEGINS = 12  # fault
FAULT_ENDS = 13  # fault
FOREIGN_REQUEST = 14  # fault
IMPORT_TIMES_OUT = 15  # osc
IMPORT_RECONNECTS = 16  # osc
IMPORT_IS_FULL = 17  # osc
# Only where processors are modelled.
RPC_IS_DUE = 18  # rpc, at its client: to be built
REQUEST_IS_READ = 19  # rpc, at its OSS
BULK_ASKED_FOR = 20  # rpc, at its client
SEGMENT_ARRIVES = 21  # rpc, at whoever receives its data
BULK_ACKNOWLEDGED = 22  # rpc, at its OSS
REPLY_IS_IN = 23  # rpc, at its client: to be dealt with
MESSAGE_LEAVES = 24  # rpc, at whoever sends its data
KIND_COUNT = 25


@kernel
def _move(w: World, source: int, target: int) -> None:
    heap = w.heap
    heap.t_us[target] = heap.t_us[source]
    heap.order[target] = heap.order[source]
    heap.kind[target] = heap.kind[source]
    heap.subject[target] = heap.subject[source]


@entry
def schedule(w: World, t_us: float, kind: int, subject: int) -> None:
    """Let something happen at a time that is not in the past."""
    heap = w.heap
    sim = w.sim
    i = sim.heap_size[0]
    if i >= heap.shape[0]:
        sim.full[0] = EVENTS_FULL
        return
    sim.heap_size[0] = i + 1
    order = sim.scheduled[0]
    sim.scheduled[0] = order + 1
    while i > 0:
        parent = (i - 1) >> 1
        if heap.t_us[parent] <= t_us:
            break
        _move(w, parent, i)
        i = parent
    heap.t_us[i] = t_us
    heap.order[i] = order
    heap.kind[i] = kind
    heap.subject[i] = subject


@kernel
def next_time(w: World) -> float:
    """When the next event is due; never, if there is none."""
    if w.sim.heap_size[0] == 0:
        return 1e300
    return w.heap.t_us[0]


@kernel
def _earlier(w: World, i: int, t_us: float, order: int) -> bool:
    at_us = w.heap.t_us[i]
    return at_us < t_us or (at_us == t_us and w.heap.order[i] < order)


@kernel
def drop_first(w: World) -> None:
    """Remove the event that is due first."""
    heap = w.heap
    size = w.sim.heap_size[0] - 1
    w.sim.heap_size[0] = size
    i = 0
    t_us = heap.t_us[size]
    order = heap.order[size]
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and _earlier(w, child + 1, heap.t_us[child], heap.order[child]):
            child += 1
        if not _earlier(w, child, t_us, order):
            break
        _move(w, child, i)
        i = child
    _move(w, size, i)
