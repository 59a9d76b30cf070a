"""The connection of an OSC to its OST: lost, found again, or ended by the server.

An OST that stops answering is noticed after a timeout. Requests it never answered are sent again once it is back:
nothing is lost, and a request's time on the wire counts from its last sending. A client that the server has
evicted loses more: what was dirty or in flight is gone (and counted), cached pages and locks are void, grant
starts anew. Its counters go on; the import's generation tells that something happened.
"""

from __future__ import annotations

from penstock.simulate.kernel.calendar import IMPORT_IS_FULL, IMPORT_RECONNECTS, schedule
from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.counters import account
from penstock.simulate.kernel.extents import clear_labels
from penstock.simulate.kernel.locks import forfeit_locks
from penstock.simulate.kernel.network import link_between
from penstock.simulate.kernel.offsets import next_cached, note_start
from penstock.simulate.kernel.pagecache import forget
from penstock.simulate.kernel.queues import delist, free_extent, head_of
from penstock.simulate.kernel.records import NONE, READ, World
from penstock.simulate.kernel.rpcs import free_rpc, hand_over, send_rpcs
from penstock.simulate.kernel.states import (
    ABSENT,
    DISCONN,
    EVICTED,
    FULL_IMPORT,
    READING,
    REPLAY,
    RUNNING,
    STOPPED,
    TO_READ,
    WAITS_FOR_COMMIT,
    WAITS_FOR_LOCK,
)
from penstock.simulate.kernel.streams import wake

# Connecting and replaying what is to be replayed take a few round trips.
ROUND_TRIPS = 4.0


@kernel
def first_osc(w: World, c: int) -> int:
    """The first of a client's OSCs; they are numbered like the OSTs."""
    return c * w.ost.shape[0]


@kernel
def _handshake_us(w: World, o: int) -> float:
    s = w.ost.oss[w.osc.ost[o]]
    link = link_between(w, w.osc.client[o], s, 1)
    return ROUND_TRIPS * 2.0 * (w.link.latency_us[link] + w.oss.request_us[s])


@kernel
def import_times_out(w: World, o: int, now_us: float) -> None:
    """Requests, or a ping, went unanswered too long: the connection counts as lost."""
    w.osc.timer[o] = 0
    unanswered = w.ost.down[w.osc.ost[o]]
    for r in range(w.rpc.shape[0]):
        if w.rpc.osc[r] == o and w.rpc.lost[r] == 1:
            unanswered = 1
    if unanswered == 0 or w.osc.state[o] != FULL_IMPORT:
        return
    w.osc.state[o] = DISCONN
    if w.ost.down[w.osc.ost[o]] == 0:
        schedule(w, now_us, IMPORT_RECONNECTS, o)


@kernel
def import_reconnects(w: World, o: int, now_us: float) -> None:
    """The OST answers again."""
    if w.osc.state[o] == DISCONN and w.ost.down[w.osc.ost[o]] == 0:
        w.osc.state[o] = REPLAY
        schedule(w, now_us + _handshake_us(w, o), IMPORT_IS_FULL, o)


@kernel
def import_is_full(w: World, o: int, now_us: float) -> None:
    """Connected again: send what was never answered once more, and go on."""
    w.osc.state[o] = FULL_IMPORT
    w.osc.generation[o] += 1
    for r in range(w.rpc.shape[0]):
        if w.rpc.osc[r] == o and w.rpc.lost[r] == 1:
            if w.rpc.dead[r] == 1:
                free_rpc(w, r)
                continue
            w.rpc.lost[r] = 0
            w.rpc.handed_us[r] = now_us
            hand_over(w, r, now_us)
    send_rpcs(w, o, now_us)


@kernel
def _lose(w: World, o: int, e: int) -> None:
    clear_labels(w, e)
    w.osc.lost_pages[o] += w.extent.pages[e]
    free_extent(w, e)


@kernel
def _unread(w: World, e: int) -> None:
    base = w.file.state_base[w.extent.file[e]] + w.extent.start[e]
    for i in range(base, base + w.extent.pages[e]):
        if w.page_state[i] == READING:
            w.page_state[i] = ABSENT
    free_extent(w, e)


@kernel
def _fail_rpcs(w: World, o: int) -> None:
    """What is in flight will not be answered, though the server may still be busy with it."""
    for r in range(w.rpc.shape[0]):
        if w.rpc.osc[r] != o or w.rpc.dead[r] == 1:
            continue
        e = w.rpc.ext_head[r]
        while e != NONE:
            following = w.extent.next[e]
            if w.rpc.direction[r] == READ:
                _unread(w, e)
            else:
                _lose(w, o, e)
            e = following
        w.rpc.ext_head[r] = NONE
        if w.rpc.lost[r] == 1:
            free_rpc(w, r)
        else:
            w.rpc.dead[r] = 1


@kernel
def _empty_file(w: World, f: int) -> None:
    o = w.file.osc[f]
    s = w.file.first_stream[f]
    while s != NONE:
        e = w.stream.active_ext[s]
        if e != NONE:
            w.stream.active_ext[s] = NONE
            _lose(w, o, e)
        w.stream.sync[s] = 0
        s = w.stream.next_in_file[s]
    w.file.filling[f] = NONE
    w.file.writing[f] = 0
    w.file.dirtied_us[f] = -1.0
    e = head_of(w, f, TO_READ)
    while e != NONE:
        delist(w, e)
        _unread(w, e)
        e = head_of(w, f, TO_READ)
    e = next_cached(w, f, 0) if w.file.ext_base[f] != NONE else NONE
    while e != NONE:
        following = w.extent.start[e] + w.extent.pages[e]
        note_start(w, f, w.extent.start[e], -1)
        delist(w, e)
        _lose(w, o, e)
        e = next_cached(w, f, following)


@kernel
def _rouse(w: World, f: int, now_us: float) -> None:
    s = w.file.first_stream[f]
    while s != NONE:
        mode = w.stream.mode[s]
        answered = mode in (WAITS_FOR_LOCK, WAITS_FOR_COMMIT)
        if mode != RUNNING and mode != STOPPED and not answered:
            wake(w, s, now_us)
        if w.stream.lock[s] != NONE and mode != WAITS_FOR_LOCK:
            w.stream.lock[s] = NONE
        s = w.stream.next_in_file[s]


@kernel
def evict(w: World, o: int, until_us: float, now_us: float) -> None:
    """The server drops a client's OSC, which is connected again at the given time or as soon as it can."""
    account(w, o, now_us)
    _fail_rpcs(w, o)
    first = w.osc.first_file[o]
    f = first
    while f != NONE:
        _empty_file(w, f)
        if w.file.shared[f] == 1:
            forfeit_locks(w, f, now_us)
        _rouse(w, f, now_us)
        f = w.file.next_in_osc[f]
        if f == first:
            break
    c = w.osc.client[o]
    forget(w, o, w.osc.lru_pages[o])
    w.client.dirty[c] -= w.osc.dirty[o]
    w.osc.dirty[o] = 0
    w.osc.waiters[o] = 0
    w.osc.reads[o] = 0
    w.osc.writes[o] = 0
    w.osc.grant_bytes[o] = w.client.grant_initial_bytes[c]
    w.osc.grant_total_bytes[o] = w.client.grant_initial_bytes[c]
    w.osc.generation[o] += 1
    w.osc.evictions[o] += 1
    w.osc.state[o] = EVICTED
    schedule(w, max(until_us, now_us + _handshake_us(w, o)), IMPORT_IS_FULL, o)
