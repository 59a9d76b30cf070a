"""The calendar: what will happen, to whom, and when. Ties in time are broken by the order of scheduling.

Today's events are in a binary heap, which is small and so stays near the processor. Those of later days wait in a
list a day, in any order, until their day begins: most events of a large world are far off, and putting one away
costs the same however many there are. The lists form a ring; what lies beyond its end shares a list with nearer
days and is left in it when those begin. In a small world `sim.today` is the last day: all events are in the heap.
"""

from __future__ import annotations

from penstock.simulate.kernel.compiler import entry, kernel
from penstock.simulate.kernel.records import EVENTS_FULL, NONE, World

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
DAEMON_HAS_TURN = 25  # client: works on a reply's pages
# Of an fsync.
SYNC_ARRIVES = 26  # stream, at the OST
SYNC_ANSWERED = 27  # stream, at its client
KIND_COUNT = 28


# A day of 100 microseconds has about a dozen events where 5,000 streams write; the ring of days is 6.5 s long,
# longer than the journal's and the flusher's rounds.
DAYS_PER_US = 0.01
DAYS = 1 << 16
LAST_DAY = 10**13
NEVER_US = 1e300


@kernel
def day_of(t_us: float) -> int:
    """The day on which a time lies; all times beyond some 30 years lie on the last."""
    return int(min(t_us * DAYS_PER_US, float(LAST_DAY)))


@kernel
def list_of(day: int) -> int:
    """The day's place in the ring."""
    return day & (DAYS - 1)


@kernel
def _move(w: World, source: int, target: int) -> None:
    heap = w.heap
    heap.t_us[target] = heap.t_us[source]
    heap.order[target] = heap.order[source]
    heap.kind[target] = heap.kind[source]
    heap.subject[target] = heap.subject[source]


@kernel
def _earlier(w: World, i: int, t_us: float, order: int) -> bool:
    at_us = w.heap.t_us[i]
    return at_us < t_us or (at_us == t_us and w.heap.order[i] < order)


@kernel
def _push(w: World, t_us: float, order: int, kind: int, subject: int) -> None:
    heap = w.heap
    i = w.sim.heap_size[0]
    w.sim.heap_size[0] = i + 1
    while i > 0:
        parent = (i - 1) >> 1
        if _earlier(w, parent, t_us, order):
            break
        _move(w, parent, i)
        i = parent
    heap.t_us[i] = t_us
    heap.order[i] = order
    heap.kind[i] = kind
    heap.subject[i] = subject


@kernel
def _put_off(w: World, t_us: float, order: int, kind: int, subject: int) -> None:
    sim, event = w.sim, w.event
    e = sim.event_free[0]
    if e == NONE:
        e = sim.event_used[0]
        sim.event_used[0] = e + 1
    else:
        sim.event_free[0] = int(w.following[e])
    event.t_us[e] = t_us
    event.order[e] = order
    event.kind[e] = kind
    event.subject[e] = subject
    slot = list_of(day_of(t_us))
    w.following[e] = w.day[slot]
    w.day[slot] = e


@entry
def schedule(w: World, t_us: float, kind: int, subject: int) -> None:
    """Let something happen at a time that is not in the past."""
    sim = w.sim
    if sim.pending[0] >= w.event.shape[0]:
        sim.full[0] = EVENTS_FULL
        return
    sim.pending[0] += 1
    order = sim.scheduled[0]
    sim.scheduled[0] = order + 1
    if day_of(t_us) <= sim.today[0]:
        _push(w, t_us, order, kind, subject)
    else:
        _put_off(w, t_us, order, kind, subject)


@kernel
def _begin_day(w: World, today: int) -> None:
    sim, event = w.sim, w.event
    sim.today[0] = today
    slot = list_of(today)
    e = int(w.day[slot])
    w.day[slot] = NONE
    while e != NONE:
        following = int(w.following[e])
        if day_of(event.t_us[e]) == today:
            _push(w, event.t_us[e], event.order[e], event.kind[e], event.subject[e])
            w.following[e] = sim.event_free[0]
            sim.event_free[0] = e
        else:
            w.following[e] = w.day[slot]
            w.day[slot] = e
        e = following


@kernel
def next_time(w: World) -> float:
    """When the next event is due; never, if there is none."""
    sim = w.sim
    while sim.heap_size[0] == 0:
        if sim.pending[0] == 0:
            return NEVER_US
        _begin_day(w, sim.today[0] + 1)
    return w.heap.t_us[0]


@kernel
def drop_first(w: World) -> None:
    """Remove the event that is due first; `next_time` has made sure that it is known."""
    heap = w.heap
    w.sim.pending[0] -= 1
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
