"""A write() call: overwrite in place where that is free, wait where it is not, enter new dirty pages."""

from __future__ import annotations

from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.extents import add_run, boundary, joinable, release
from penstock.simulate.kernel.grant import admissible, stranded
from penstock.simulate.kernel.pagecache import remember
from penstock.simulate.kernel.pages import clean_run, extent_at, run_not_cached
from penstock.simulate.kernel.queues import enlist
from penstock.simulate.kernel.records import NONE, World
from penstock.simulate.kernel.rpcs import send_rpcs
from penstock.simulate.kernel.states import (
    FLYING,
    HIGH_PRIORITY,
    UNLISTED,
    WAITS_FOR_CACHE,
    WAITS_FOR_SYNC,
    WAITS_FOR_WRITEBACK,
)


@kernel
def _note_cached(w: World, f: int, page: int, end: int) -> None:
    while page < end:
        run = run_not_cached(w, f, page, end)
        if run > 0:
            remember(w, f, page, run)
        page += run + 1


@kernel
def leave_extent(w: World, s: int, t_us: float) -> None:
    """Release the extent the thread was filling, if any; a full one leaves at once."""
    e = w.stream.active_ext[s]
    if e == NONE:
        return
    w.stream.active_ext[s] = NONE
    w.file.filling[w.extent.file[e]] = NONE
    full = release(w, e)
    if w.stream.sync[s] == 1 and w.extent.kind[e] == UNLISTED:
        enlist(w, e, HIGH_PRIORITY)
        full = True
    if full:
        send_rpcs(w, w.file.osc[w.extent.file[e]], t_us)


@kernel
def _block(w: World, s: int, o: int, t_us: float) -> float:
    leave_extent(w, s, t_us)
    w.stream.mode[s] = WAITS_FOR_CACHE
    w.stream.call_us[s] = t_us
    w.stream.blocked[s] = w.sim.scheduled[0]
    w.osc.waiters[o] += 1
    send_rpcs(w, o, t_us)
    return t_us


@kernel
def _enter(w: World, s: int, f: int, page: int, t_us: float) -> float:
    stream = w.stream
    o = w.file.osc[f]
    c = stream.client[s]
    last = boundary(page, w.osc.pages[o])
    wanted = clean_run(w, f, page, min(min(stream.end[s], last + 1), page + w.client.stride[c]))
    tax = int(w.client.extent_tax_bytes[c])
    joins = joinable(w, f, page - 1, last) != NONE
    if not joins and page + wanted <= last:
        joins = joinable(w, f, page + wanted, last) != NONE
    pages = admissible(w, o, wanted, 0 if joins else tax)
    if pages == 0 and (w.osc.dirty_max[o] == 0 or stranded(w, o)):
        pages = wanted
        stream.sync[s] = 1
    if pages == 0:
        return _block(w, s, o, t_us)
    if joins and pages < wanted:
        # A cut run may not reach the neighbour it counted on; then it is a new extent and pays.
        joins = joinable(w, f, page - 1, last) != NONE
        pages = pages if joins else admissible(w, o, wanted, tax)
        if pages == 0:
            return _block(w, s, o, t_us)
    _note_cached(w, f, page, page + pages)
    if stream.active_ext[s] != NONE and not joins:
        leave_extent(w, s, t_us)
    e = add_run(w, f, page, pages, tax, t_us)
    if e == NONE:
        return t_us
    stream.active_ext[s] = e
    w.file.filling[f] = e
    stream.cursor[s] = page + pages
    if w.file.dirtied_us[f] < 0.0:
        w.file.dirtied_us[f] = t_us
    t_us += pages * w.client.write_new_us_page[c]
    if page + pages > last or w.extent.pages[e] >= w.extent.most_pages[e]:
        leave_extent(w, s, t_us)
    return t_us


@kernel
def write_on(w: World, s: int, t_us: float) -> float:
    """Go on with the call for one run of pages; returns the thread's time, or blocks it."""
    stream = w.stream
    f = stream.file[s]
    page = stream.cursor[s]
    e = extent_at(w, f, page)
    if e == NONE:
        return _enter(w, s, f, page, t_us)
    if w.extent.state[e] == FLYING:
        leave_extent(w, s, t_us)
        stream.wait_page[s] = page
        stream.mode[s] = WAITS_FOR_WRITEBACK
        stream.call_us[s] = t_us
        return t_us
    end = min(stream.end[s], w.extent.start[e] + w.extent.pages[e])
    run = min(end - page, w.client.stride[stream.client[s]])
    stream.cursor[s] = page + run
    return t_us + run * w.client.write_over_us_page[stream.client[s]]


@kernel
def end_write(w: World, s: int, t_us: float) -> bool:
    """The call has written all its pages; false while a synchronous one still waits for the server."""
    leave_extent(w, s, t_us)
    if w.stream.sync[s] == 1:
        f = w.stream.file[s]
        if w.file.cached_extents[f] > 0 or w.osc.writes[w.file.osc[f]] > 0:
            w.stream.mode[s] = WAITS_FOR_SYNC
            w.stream.call_us[s] = t_us
            return False
        w.stream.sync[s] = 0
    return True
