"""Dirty extents: aligned to RPC boundaries, merged with neighbours, released when filled.

An extent is a run of dirty pages that never crosses a multiple of the `max_pages_per_rpc` it was created under.
"""

from __future__ import annotations

from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.grant import reserve
from penstock.simulate.kernel.offsets import note_start
from penstock.simulate.kernel.pages import extent_at, label, set_state
from penstock.simulate.kernel.queues import delist, enlist, free_extent, new_extent
from penstock.simulate.kernel.records import NONE, World
from penstock.simulate.kernel.states import ACTIVE, CACHE, FLYING, FULL, UNLISTED, UPTODATE, URGENT


@kernel
def boundary(page: int, most_pages: int) -> int:
    """The last page of the RPC that a page falls into."""
    return page - page % most_pages + most_pages - 1


@kernel
def joinable(w: World, f: int, page: int, max_end: int) -> int:
    """The extent at `page` that new pages with this RPC boundary may join, or none.

    Extents made under another `max_pages_per_rpc` are left alone: they keep the size they were made for. What lies
    beyond the boundary is not looked at: it may be far from the processor.
    """
    if page < 0 or page >= w.file.pages[f] or boundary(page, w.osc.pages[w.file.osc[f]]) != max_end:
        return NONE
    e = extent_at(w, f, page)
    if e == NONE or w.extent.state[e] == FLYING or w.extent.max_end[e] != max_end:
        return NONE
    if w.extent.lock[e] != w.file.lock[f] or (w.extent.state[e] == ACTIVE and e != w.file.filling[f]):
        # It lies under another lock, or another thread is filling it.
        return NONE
    return e if w.extent.most_pages[e] == w.osc.pages[w.file.osc[f]] else NONE


@kernel
def activate(w: World, e: int) -> int:
    """A CACHE extent is written to again: it leaves its list and is not sent meanwhile."""
    if w.extent.state[e] == CACHE:
        note_start(w, w.extent.file[e], w.extent.start[e], -1)
        delist(w, e)
        w.extent.state[e] = ACTIVE
    return e


@kernel
def await_extent(w: World, e: int) -> None:
    """An fsync waits until the extent's pages are clean."""
    if w.extent.awaited[e] == 0:
        w.extent.awaited[e] = 1
        w.file.awaited[w.extent.file[e]] += 1


@kernel
def _absorb(w: World, e: int, victim: int, tax_bytes: int) -> None:
    o = w.file.osc[w.extent.file[e]]
    label(w, w.extent.file[e], w.extent.start[victim], w.extent.pages[victim], e)
    w.extent.pages[e] += w.extent.pages[victim]
    w.extent.grant_bytes[e] += w.extent.grant_bytes[victim] - tax_bytes
    w.osc.grant_bytes[o] += tax_bytes
    if w.extent.awaited[victim] == 1:
        await_extent(w, e)
    free_extent(w, victim)


@kernel
def add_run(w: World, f: int, page: int, pages: int, tax_bytes: int, now_us: float) -> int:
    """Make clean pages dirty, joining or creating an extent, which becomes ACTIVE; returns it.

    The pages lie within one RPC boundary and were found admissible; joining on both sides merges the two
    neighbours and refunds one tax. None when the pool of extents is full.
    """
    o = w.file.osc[f]
    most_pages = w.osc.pages[o]
    max_end = boundary(page, most_pages)
    left = joinable(w, f, page - 1, max_end)
    right = joinable(w, f, page + pages, max_end) if page + pages <= max_end else NONE
    held = reserve(w, o, pages, tax_bytes if left == NONE and right == NONE else 0, now_us)
    if left != NONE:
        e = activate(w, left)
        w.extent.pages[e] += pages
    elif right != NONE:
        e = activate(w, right)
        w.extent.start[e] = page
        w.extent.pages[e] += pages
    else:
        e = new_extent(w, f, page, pages, most_pages)
        if e == NONE:
            return NONE
        w.extent.max_end[e] = max_end
        w.extent.state[e] = ACTIVE
    w.extent.grant_bytes[e] += held
    label(w, f, page, pages, e)
    set_state(w, f, page, pages, UPTODATE)
    if left != NONE and right != NONE:
        _absorb(w, e, activate(w, right), tax_bytes)
    return e


@kernel
def release(w: World, e: int) -> bool:
    """The writer leaves the extent: cached now, and due for sending at once only if it is full or awaited."""
    w.extent.state[e] = CACHE
    note_start(w, w.extent.file[e], w.extent.start[e], 1)
    full = w.extent.pages[e] >= w.extent.most_pages[e]
    if full and w.extent.kind[e] == UNLISTED:
        enlist(w, e, FULL)
    if w.extent.awaited[e] == 1 and w.extent.kind[e] == UNLISTED:
        enlist(w, e, URGENT)
        return True
    return full


@kernel
def depart(w: World, e: int) -> None:
    """A cached extent goes into an RPC: its pages are under writeback from now on."""
    note_start(w, w.extent.file[e], w.extent.start[e], -1)
    delist(w, e)
    w.extent.state[e] = FLYING


@kernel
def clear_labels(w: World, e: int) -> None:
    """The extent's pages are clean."""
    label(w, w.extent.file[e], w.extent.start[e], w.extent.pages[e], NONE)
