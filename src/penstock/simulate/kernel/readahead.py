"""Readahead: a window that grows by one RPC per sequential read() and is refilled in large batches."""

from __future__ import annotations

from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.extents import boundary
from penstock.simulate.kernel.pagecache import make_room
from penstock.simulate.kernel.pages import run_in_state, set_state
from penstock.simulate.kernel.queues import enlist, new_extent
from penstock.simulate.kernel.records import NONE, World
from penstock.simulate.kernel.rpcs import send_rpcs
from penstock.simulate.kernel.states import ABSENT, READING, TO_READ

NEAR_PAGES = 8


@kernel
def note_read(w: World, s: int, page: int, pages: int) -> None:
    """A read() call begins: is the stream sequential, and how far may readahead go?"""
    stream = w.stream
    f = stream.file[s]
    c = stream.client[s]
    if abs(page - stream.ra_end_of_last[s]) <= NEAR_PAGES:
        if stream.reads_done[s] >= 1 and w.file.pages[f] <= w.client.ra_whole[c]:
            stream.ra_window[s] = w.file.pages[f]
        grown = stream.ra_window[s] + w.osc.pages[w.file.osc[f]]
        stream.ra_window[s] = min(grown, w.client.ra_max[c])
    else:
        stream.ra_window[s] = 0
        stream.ra_next[s] = page
    stream.ra_start[s] = page
    stream.ra_end_of_last[s] = page + pages
    stream.reads_done[s] += 1


@kernel
def _file_pages(w: World, s: int) -> int:
    return w.file.pages[w.stream.file[s]]


@kernel
def wants_refill(w: World, s: int) -> bool:
    """Whether enough of the window is not yet asked for to be worth a batch, though the page itself is there."""
    room = w.stream.ra_start[s] + w.stream.ra_window[s] - w.stream.ra_next[s]
    most_pages = w.osc.pages[w.file.osc[w.stream.file[s]]]
    return room >= max(w.client.ra_refill[w.stream.client[s]], most_pages) and w.stream.ra_next[
        s
    ] < _file_pages(w, s)


@kernel
def submit(w: World, f: int, first: int, end: int, asked: int, now_us: float) -> float:
    """Queue reads for every absent page of a range, cut at RPC boundaries; returns when the caller is done.

    Pages before `asked` are those that the call itself wants: they go through the whole read path, one by one.
    """
    o = w.file.osc[f]
    c = w.osc.client[o]
    most_pages = w.osc.pages[o]
    t_us = now_us + make_room(w, o, end - first)
    page = first
    while page < end:
        run = run_in_state(w, f, page, min(end, boundary(page, most_pages) + 1), ABSENT)
        if run == 0:
            page += 1
            continue
        t_us += run * w.client.read_submit_us_page[c]
        t_us += max(0, min(run, asked - page)) * w.client.read_demand_us_page[c]
        e = new_extent(w, f, page, run, most_pages)
        if e == NONE:
            return t_us
        w.extent.ready_us[e] = t_us
        set_state(w, f, page, run, READING)
        enlist(w, e, TO_READ)
        page += run
    send_rpcs(w, o, now_us)
    return t_us


@kernel
def read_ahead(w: World, s: int, now_us: float) -> float:
    """Ask for what the call still lacks and for the window behind it; returns when the reader is done asking."""
    stream = w.stream
    f = stream.file[s]
    most_pages = w.osc.pages[w.file.osc[f]]
    cursor, end = stream.cursor[s], stream.end[s]
    missing = w.page_state[w.file.state_base[f] + cursor] == ABSENT
    if missing and cursor < stream.ra_next[s]:
        # Thrashing: what readahead once brought has been dropped before it was read.
        stream.ra_window[s] = 0
        stream.ra_next[s] = cursor
    window_end = stream.ra_start[s] + stream.ra_window[s]
    end = max(end, min(window_end - window_end % most_pages, w.file.pages[f]))
    if stream.lock[s] != NONE:
        end = min(end, w.lock.high[stream.lock[s]] + 1)
    first = cursor if missing else max(cursor, stream.ra_next[s])
    stream.ra_next[s] = max(stream.ra_next[s], end)
    return submit(w, f, first, end, stream.end[s], now_us)
