"""A reply reaches its client: pages become usable or clean, grant returns, sleepers wake, slots are refilled."""

from __future__ import annotations

from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.counters import account, tally_completion
from penstock.simulate.kernel.extents import clear_labels
from penstock.simulate.kernel.grant import blocked_stream, grow, refund
from penstock.simulate.kernel.locks import settle_locks
from penstock.simulate.kernel.pagecache import remember, shrink
from penstock.simulate.kernel.pages import extent_at, run_in_state, set_state
from penstock.simulate.kernel.queues import free_extent
from penstock.simulate.kernel.records import NONE, PAGE, READ, World
from penstock.simulate.kernel.rpcs import free_rpc, send_rpcs
from penstock.simulate.kernel.states import (
    FLYING,
    READING,
    UPTODATE,
    WAITS_FOR_FLUSH,
    WAITS_FOR_FSYNC,
    WAITS_FOR_READ,
    WAITS_FOR_SYNC,
    WAITS_FOR_WRITEBACK,
)
from penstock.simulate.kernel.streams import wake


@kernel
def _wake_page_waiters(w: World, f: int, now_us: float) -> None:
    stream = w.stream
    s = w.file.first_stream[f]
    while s != NONE:
        mode = stream.mode[s]
        page = stream.wait_page[s]
        if mode == WAITS_FOR_READ:
            if w.page_state[w.file.state_base[f] + page] != READING:
                wake(w, s, now_us)
        elif mode == WAITS_FOR_WRITEBACK:
            e = extent_at(w, f, page)
            if e == NONE or w.extent.state[e] != FLYING:
                wake(w, s, now_us)
        elif mode == WAITS_FOR_FLUSH:
            if w.file.cached_extents[f] == 0 and w.file.writing[f] == 0:
                wake(w, s, now_us)
        elif mode == WAITS_FOR_FSYNC:
            if w.file.awaited[f] == 0:
                wake(w, s, now_us)
        elif mode == WAITS_FOR_SYNC and w.osc.writes[w.file.osc[f]] == 0:
            wake(w, s, now_us)
        s = stream.next_in_file[s]


@kernel
def _wake_cache_waiters(w: World, o: int, now_us: float) -> None:
    need = PAGE + w.client.extent_tax_bytes[w.osc.client[o]]
    if w.osc.waiters[o] == 0 or (w.osc.grant_bytes[o] < need and w.osc.dirty[o] > 0):
        return
    if w.osc.dirty[o] >= w.osc.dirty_max[o] > 0:
        return
    s = blocked_stream(w, o)
    if s != NONE:
        w.osc.waiters[o] -= 1
        wake(w, s, now_us)


@kernel
def _make_usable(w: World, f: int, page: int, end: int) -> None:
    while page < end:
        # A page written meanwhile is up to date and remembered already.
        run = run_in_state(w, f, page, end, READING)
        if run > 0:
            set_state(w, f, page, run, UPTODATE)
            remember(w, f, page, run)
        page += run + 1


@kernel
def _finish_read(w: World, r: int) -> None:
    e = w.rpc.ext_head[r]
    f = w.rpc.file[r]
    while e != NONE:
        following = w.extent.next[e]
        _make_usable(w, f, w.extent.start[e], w.extent.start[e] + w.extent.pages[e])
        free_extent(w, e)
        e = following


@kernel
def _finish_write(w: World, r: int, now_us: float) -> None:
    o = w.rpc.osc[r]
    e = w.rpc.ext_head[r]
    pages = 0
    held = 0
    while e != NONE:
        following = w.extent.next[e]
        clear_labels(w, e)
        pages += w.extent.pages[e]
        held += w.extent.grant_bytes[e]
        free_extent(w, e)
        e = following
    refund(w, o, pages, held, now_us)


@kernel
def reply_arrives(w: World, r: int, now_us: float) -> None:
    o = w.rpc.osc[r]
    if w.rpc.dead[r] == 1:
        free_rpc(w, r)
        send_rpcs(w, o, now_us)
        return
    f = w.rpc.file[r]
    direction = w.rpc.direction[r]
    account(w, o, now_us)
    # What is done to the pages afterwards keeps the slot, but the reply has been taken note of before.
    replied_us = w.rpc.replied_us[r] if w.sim.paced[0] == 1 else now_us
    tally_completion(w, o, direction, w.rpc.pages[r], replied_us - w.rpc.handed_us[r])
    if direction == READ:
        w.osc.reads[o] -= 1
        _finish_read(w, r)
        shrink(w, o, now_us)
    else:
        w.osc.writes[o] -= 1
        w.file.writing[f] -= 1
        _finish_write(w, r, now_us)
        grow(w, o)
    settle_locks(w, f, now_us)
    _wake_page_waiters(w, f, now_us)
    _wake_cache_waiters(w, o, now_us)
    free_rpc(w, r)
    send_rpcs(w, o, now_us)
