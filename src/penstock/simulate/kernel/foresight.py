"""Asks for memory that events to come will need, so that they do not wait for it. Nothing here changes the world.

In a world of thousands of streams hardly anything is in the processor's caches when its event comes. What an event
needs is asked for in two ways. The calendar knows some events long before (`look_ahead`): three days ahead the record
of an event's subject is fetched, two days ahead what that record names, one day ahead what those name. Others are
scheduled a moment before they happen; whoever schedules them asks for what they need (`foresee_reply`,
`foresee_call`).
"""

from __future__ import annotations

from penstock.simulate.kernel.calendar import REPLY_ARRIVES, REQUEST_ARRIVES, STREAM_RUNS, list_of
from penstock.simulate.kernel.compiler import kernel, prefetch
from penstock.simulate.kernel.counters import COUNT, FLIGHT_BINS, PAGES_BINS, SENT
from penstock.simulate.kernel.pages import block_of
from penstock.simulate.kernel.records import NONE, WRITE, World


@kernel
def _fetch_osc(w: World, o: int) -> None:
    prefetch(w.osc.touched_us, o)
    prefetch(w.osc.grant_bytes, o)
    prefetch(w.osc.lru_base, o)


@kernel
def _fetch_file(w: World, f: int) -> None:
    prefetch(w.file.state_base, f)
    prefetch(w.file.dirtied_us, f)


@kernel
def _fetch_pages(w: World, f: int, page: int, direction: int) -> None:
    prefetch(w.page_state, w.file.state_base[f] + page)
    if direction == WRITE:
        prefetch(w.block.extent, block_of(w, f, page))


@kernel
def foresee_counters(w: World, r: int) -> None:
    """An RPC will soon be counted, and so will the one that follows it."""
    if w.sim.foresees[0] == 1:
        row = 2 * w.rpc.osc[r] + w.rpc.direction[r]
        prefetch(w.sums[row], COUNT)
        prefetch(w.sums[row], SENT)
        prefetch(w.pages_histogram[row], PAGES_BINS // 2)
        flying = w.osc.reads[w.rpc.osc[r]] + w.osc.writes[w.rpc.osc[r]]
        prefetch(w.flight_histogram[row], min(flying, FLIGHT_BINS - 1))
        prefetch(w.osc.lru_base, w.rpc.osc[r])
        f = w.rpc.file[r]
        if w.rpc.ext_head[r] != NONE:
            prefetch(w.extent.ready_us, w.rpc.ext_head[r])
        if w.file.full_head[f] != NONE:
            prefetch(w.extent.ready_us, w.file.full_head[f])
        if w.file.first_stream[f] != NONE:
            prefetch(w.stream.call_us, w.file.first_stream[f])
            prefetch(w.stream.next_in_file, w.file.first_stream[f])


@kernel
def foresee_reply(w: World, r: int) -> None:
    """An RPC's reply is on its way: its pages become usable or clean, and the next extent is sent."""
    if w.sim.foresees[0] == 1:
        f = w.rpc.file[r]
        _fetch_pages(w, f, w.rpc.low[r], w.rpc.direction[r])
        if w.file.full_head[f] != NONE:
            e = w.file.full_head[f]
            prefetch(w.block.starts, block_of(w, f, w.extent.start[e]))
            if w.extent.next[e] != NONE:
                prefetch(w.extent.ready_us, w.extent.next[e])


@kernel
def foresee_call(w: World, s: int) -> None:
    """A stream will soon go on with its call."""
    if w.sim.foresees[0] == 1:
        f = w.stream.file[s]
        prefetch(w.stream.read_ratio, s)
        prefetch(w.stream.ra_start, s)
        if w.stream.cursor[s] < w.file.pages[f]:
            _fetch_pages(w, f, w.stream.cursor[s], w.stream.direction[s])
        if w.stream.active_ext[s] != NONE:
            prefetch(w.extent.ready_us, w.stream.active_ext[s])


@kernel
def _of_rpc(kind: int) -> bool:
    return REQUEST_ARRIVES <= kind <= REPLY_ARRIVES


@kernel
def _fetch_subject(w: World, kind: int, subject: int) -> None:
    if kind == STREAM_RUNS:
        prefetch(w.stream.call_us, subject)
    elif _of_rpc(kind):
        prefetch(w.rpc.handed_us, subject)


@kernel
def _fetch_named(w: World, kind: int, subject: int) -> None:
    if kind == STREAM_RUNS:
        _fetch_file(w, w.stream.file[subject])
    elif _of_rpc(kind) and w.rpc.osc[subject] != NONE:
        _fetch_osc(w, w.rpc.osc[subject])
        _fetch_file(w, w.rpc.file[subject])


@kernel
def _fetch_rest(w: World, kind: int, subject: int) -> None:
    if kind == STREAM_RUNS:
        _fetch_osc(w, w.file.osc[w.stream.file[subject]])
        foresee_call(w, subject)
    elif _of_rpc(kind) and w.rpc.osc[subject] != NONE:
        t = w.osc.ost[w.rpc.osc[subject]]
        prefetch(w.ost.slow, t)
        if kind == REPLY_ARRIVES:
            foresee_counters(w, subject)
            foresee_reply(w, subject)
        else:
            prefetch(w.ssd.free_us, w.ost.ssd[t])
            prefetch(w.ssd.write_rpc_us, w.ost.ssd[t])


@kernel
def look_ahead(w: World) -> None:
    """Days have begun: see to those that follow."""
    sim, event = w.sim, w.event
    for today in range(sim.foreseen[0] + 1, sim.today[0] + 1):
        e = int(w.day[list_of(today + 5)])
        while e != NONE:
            prefetch(event.t_us, e)
            e = int(w.following[e])
        e = int(w.day[list_of(today + 3)])
        while e != NONE:
            _fetch_subject(w, event.kind[e], event.subject[e])
            e = int(w.following[e])
        e = int(w.day[list_of(today + 2)])
        while e != NONE:
            _fetch_named(w, event.kind[e], event.subject[e])
            e = int(w.following[e])
        e = int(w.day[list_of(today + 1)])
        while e != NONE:
            _fetch_rest(w, event.kind[e], event.subject[e])
            e = int(w.following[e])
    sim.foreseen[0] = sim.today[0]
