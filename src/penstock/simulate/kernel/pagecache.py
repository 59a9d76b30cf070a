"""The client's page cache: which pages of a file are there, and which leave first.

Pages are remembered in runs, oldest first, per OSC, as Lustre keeps its LRU lists. When free slots run low the
OSC's daemon drops pages in batches of up to pages-per-RPC x RPCs-in-flight (`lru_shrink_max`), and builds no RPC
meanwhile; a reader that finds no slot at all drops pages itself.
"""

from __future__ import annotations

from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.cores import on_client
from penstock.simulate.kernel.pages import clean_run, set_state
from penstock.simulate.kernel.records import NONE, RUNS_FULL, World
from penstock.simulate.kernel.states import ABSENT, UPTODATE


@kernel
def _youngest_slot(w: World, o: int) -> int:
    place = w.osc.lru_head[o] + w.osc.lru_count[o] - 1
    return w.osc.lru_base[o] + (place if place < w.osc.lru_size[o] else place - w.osc.lru_size[o])


@kernel
def _write_down(w: World, o: int) -> None:
    """The youngest run goes to its place in the ring."""
    slot = _youngest_slot(w, o)
    w.lru.file[slot] = w.osc.youngest_file[o]
    w.lru.start[slot] = w.osc.youngest_start[o]
    w.lru.pages[slot] = w.osc.youngest_pages[o]


@kernel
def _append_run(w: World, o: int, f: int, page: int, pages: int) -> None:
    osc = w.osc
    if osc.lru_count[o] > 0:
        if osc.youngest_file[o] == f and osc.youngest_start[o] + osc.youngest_pages[o] == page:
            osc.youngest_pages[o] += pages
            return
        if osc.lru_count[o] >= osc.lru_size[o]:
            w.sim.full[0] = RUNS_FULL
            return
        _write_down(w, o)
    osc.lru_count[o] += 1
    osc.youngest_file[o] = f
    osc.youngest_start[o] = page
    osc.youngest_pages[o] = pages


@kernel
def _take_oldest(w: World, o: int, most: int) -> int:
    """Take up to so many pages off the oldest run, which may also be the youngest; returns how many."""
    slot = w.osc.lru_base[o] + w.osc.lru_head[o]
    if w.osc.lru_count[o] == 1:
        _write_down(w, o)
    part = min(w.lru.pages[slot], most)
    w.lru.start[slot] += part
    w.lru.pages[slot] -= part
    if w.lru.pages[slot] == 0:
        head = w.osc.lru_head[o] + 1
        w.osc.lru_head[o] = head if head < w.osc.lru_size[o] else 0
        w.osc.lru_count[o] -= 1
    elif w.osc.lru_count[o] == 1:
        w.osc.youngest_start[o] = w.lru.start[slot]
        w.osc.youngest_pages[o] = w.lru.pages[slot]
    return part


@kernel
def _dirty(w: World, f: int, start: int, pages: int) -> bool:
    return w.file.ext_base[f] != NONE and clean_run(w, f, start, start + pages) < pages


@kernel
def _drop(w: World, f: int, start: int, pages: int) -> int:
    if w.file.shared[f] == 0:
        set_state(w, f, start, pages, ABSENT)
        return pages
    # A lock may have taken pages of a shared file before their turn came.
    gone = 0
    base = w.file.state_base[f] + start
    for i in range(base, base + pages):
        if w.page_state[i] == UPTODATE:
            w.page_state[i] = ABSENT
            gone += 1
    return gone


@kernel
def discard(w: World, f: int, low: int, high: int) -> int:
    """The lock that covered these pages is gone, and with it all of them that are clean; returns how many."""
    gone = 0
    page = max(low, w.file.touched_low[f])
    last = min(high, w.file.touched_high[f])
    while page <= last:
        if not _dirty(w, f, page, 1):
            gone += _drop(w, f, page, 1)
        page += 1
    if low <= w.file.touched_low[f] and w.file.touched_high[f] <= high:
        w.file.touched_low[f] = w.file.pages[f]
        w.file.touched_high[f] = -1
    o = w.file.osc[f]
    w.osc.lru_pages[o] -= gone
    w.client.cached[w.osc.client[o]] -= gone
    return gone


@kernel
def _free_run(w: World, o: int) -> int:
    """In a full ring drop the oldest run that is clean, or that a lock has emptied; returns how many pages went."""
    if w.osc.lru_count[o] < w.osc.lru_size[o]:
        return 0
    for _ in range(w.osc.lru_count[o]):
        slot = w.osc.lru_base[o] + w.osc.lru_head[o]
        f, start, pages = w.lru.file[slot], w.lru.start[slot], w.lru.pages[slot]
        _take_oldest(w, o, pages)
        if not _dirty(w, f, start, pages):
            return _drop(w, f, start, pages)
        _append_run(w, o, f, start, pages)
    return 0


@kernel
def forget(w: World, o: int, pages: int) -> int:
    """Drop about this many of the oldest clean pages; returns how many went.

    Twice as many are looked at, and no more (osc_lru_shrink). Dirty ones go to the young end, so the next call finds
    others.
    """
    # Of a dirty run a part may be put back, which is one run more.
    gone, seen = _free_run(w, o), 0
    for _ in range(w.osc.lru_count[o]):
        if gone >= pages or seen >= 2 * pages:
            break
        slot = w.osc.lru_base[o] + w.osc.lru_head[o]
        part = _take_oldest(w, o, pages - gone)
        seen += part
        f, start = w.lru.file[slot], w.lru.start[slot] - part
        if _dirty(w, f, start, part):
            _append_run(w, o, f, start, part)
        else:
            gone += _drop(w, f, start, part)
    w.osc.lru_pages[o] -= gone
    w.client.cached[w.osc.client[o]] -= gone
    return gone


@kernel
def remember(w: World, f: int, page: int, pages: int) -> None:
    """Pages have just become usable and are the youngest."""
    o = w.file.osc[f]
    w.client.cached[w.osc.client[o]] += pages
    w.osc.lru_pages[o] += pages
    if w.file.shared[f] == 1:
        w.file.touched_low[f] = min(w.file.touched_low[f], page)
        w.file.touched_high[f] = max(w.file.touched_high[f], page + pages - 1)
    gone = _free_run(w, o)
    w.osc.lru_pages[o] -= gone
    w.client.cached[w.osc.client[o]] -= gone
    _append_run(w, o, f, page, pages)


@kernel
def make_room(w: World, o: int, pages: int) -> float:
    """A reader needs slots for this many pages; returns the time it spends dropping others.

    It drops pages of its own OSC first and, where those are not what fills the cache, clean pages of the client's
    other OSCs (osc_lru_reclaim). Dirty pages cannot go, and a reader is not made to pay for them.
    """
    c = w.osc.client[o]
    clean = w.client.cached[c] - w.client.dirty[c]
    excess = clean + pages - w.client.cached_max[c]
    if excess <= 0:
        return 0.0
    gone = forget(w, o, min(excess, max(pages, excess * w.osc.lru_pages[o] // max(clean, 1))))
    first = c * w.client.osts[c]
    for other in range(first, first + w.client.osts[c]):
        if gone >= excess:
            break
        gone += forget(w, other, excess - gone)
    return gone * w.client.lru_free_us_page[c]


@kernel
def shrink(w: World, o: int, now_us: float) -> None:
    """The OSC's daemon looks whether slots run low, and drops a batch if so (osc_cache_too_full)."""
    c = w.osc.client[o]
    limit = w.client.cached_max[c]
    if limit - w.client.cached[c] >= limit >> 2:
        return
    budget = limit // w.client.osts[c]
    batch = 0
    if w.osc.lru_pages[o] >= budget:
        batch = w.osc.pages[o] * w.osc.flight[o]
    elif w.osc.lru_pages[o] >= budget >> 1:
        batch = 2 * w.osc.pages[o]
    if batch > 0:
        spent_us = forget(w, o, batch) * w.client.lru_free_us_page[c]
        on_client(w, c, spent_us, now_us)
        w.osc.build_free_us[o] = max(now_us, w.osc.build_free_us[o]) + spent_us
