"""Extent locks on files that several clients share: matched at the client, granted and called back by the OST.

A lock is granted as wide as nobody else's wishes forbid, so a lone user soon holds the whole object. When another
client wants part of it, the holder finishes the calls under way, writes back everything dirty under the lock,
drops the pages it covers and only then gives it up: the price of a conflict is the holder's dirty data.

Requests queue in order of arrival, and only the first of an object's queue is looked at. Files of one client only
take no locks: theirs would be granted once and never asked for again.
"""

from __future__ import annotations

from penstock.simulate.kernel.calendar import (
    LOCK_ARRIVES,
    LOCK_CALLED_BACK,
    LOCK_CANCELLED,
    LOCK_WANTED,
    schedule,
)
from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.network import link_between, send_small
from penstock.simulate.kernel.offsets import next_cached
from penstock.simulate.kernel.pagecache import discard
from penstock.simulate.kernel.queues import delist, enlist
from penstock.simulate.kernel.records import LOCKS_FULL, NONE, READ, WRITE, World
from penstock.simulate.kernel.rpcs import send_rpcs
from penstock.simulate.kernel.states import HIGH_PRIORITY, LOCK_CANCELLING, LOCK_GONE, LOCK_GRANTED, LOCK_HELD

# Above so many conflicting locks an object's locks no longer grow downwards, and then hardly upwards
# (ldlm_extent_internal_policy_fixup).
CONTENDED, CROWDED = 4, 32
CROWDED_PAGES = 8192


@kernel
def _server_of_file(w: World, f: int) -> int:
    return w.ost.oss[w.osc.ost[w.file.osc[f]]]


@kernel
def to_server(w: World, f: int, now_us: float) -> float:
    """When a small request about a file, handed over now, is understood by its OST."""
    c = w.osc.client[w.file.osc[f]]
    s = _server_of_file(w, f)
    return send_small(w, link_between(w, c, s, 1), w.client.nic[c], now_us) + w.oss.request_us[s]


@kernel
def to_client(w: World, f: int, now_us: float) -> float:
    """When an answer or a callback about a file, handed over now, arrives."""
    s = _server_of_file(w, f)
    return send_small(w, link_between(w, w.osc.client[w.file.osc[f]], s, 0), w.oss.nic[s], now_us)


@kernel
def hold_lock(w: World, s: int, now_us: float) -> bool:
    """A call begins: true when a lock held already covers it; otherwise one is asked for."""
    stream, lock = w.stream, w.lock
    f = stream.file[s]
    direction = stream.direction[s]
    k = w.file.lock_head[w.file.home[f]]
    while k != NONE:
        if (
            lock.file[k] == f
            and lock.state[k] == LOCK_HELD
            and lock.heard[k] == 0
            and lock.low[k] <= stream.begin[s]
            and stream.end[s] - 1 <= lock.high[k]
            and lock.direction[k] >= direction
        ):
            lock.users[k] += 1
            stream.lock[s] = k
            w.file.lock[f] = k
            return True
        k = lock.next[k]
    schedule(w, to_server(w, f, now_us), LOCK_WANTED, s)
    return False


@kernel
def _conflicts(w: World, k: int, s: int) -> bool:
    other = w.lock.file[k] != w.stream.file[s]
    return other and (w.lock.direction[k] == WRITE or w.stream.direction[s] == WRITE)


@kernel
def _call_back(w: World, k: int, now_us: float) -> None:
    if w.lock.called[k] == 0:
        w.lock.called[k] = 1
        schedule(w, to_client(w, w.lock.file[k], now_us), LOCK_CALLED_BACK, k)


@kernel
def _grantable(w: World, home: int, s: int, now_us: float) -> bool:
    free = True
    k = w.file.lock_head[home]
    while k != NONE:
        overlaps = w.lock.low[k] < w.stream.end[s] and w.stream.begin[s] <= w.lock.high[k]
        if overlaps and _conflicts(w, k, s):
            _call_back(w, k, now_us)
            free = False
        k = w.lock.next[k]
    if w.file.lock_count[home] >= w.file.lock_room[home]:
        # As on a client whose list of unused locks is full: the oldest goes.
        k = w.file.lock_head[home]
        while w.lock.next[k] != NONE:
            k = w.lock.next[k]
        _call_back(w, k, now_us)
        return False
    return free


@kernel
def _widen(w: World, home: int, k: int, s: int) -> None:
    """The widest range around the call that touches neither others' locks nor what others wait for."""
    stream, lock = w.stream, w.lock
    begin, end = stream.begin[s], stream.end[s]
    low, high = 0, w.file.pages[home] - 1
    conflicting = 0
    other = w.file.lock_head[home]
    while other != NONE:
        if _conflicts(w, other, s):
            conflicting += 1
            if lock.high[other] < begin:
                low = max(low, lock.high[other] + 1)
            elif lock.low[other] >= end:
                high = min(high, lock.low[other] - 1)
        other = lock.next[other]
    waiting = w.file.wanted_head[home]
    while waiting != NONE:
        both_read = stream.direction[waiting] == READ and stream.direction[s] == READ
        if stream.file[waiting] != stream.file[s] and not both_read:
            conflicting += 1
            if stream.end[waiting] <= begin:
                low = max(low, stream.end[waiting])
            elif stream.begin[waiting] >= end:
                high = min(high, stream.begin[waiting] - 1)
        waiting = stream.next_wanted[waiting]
    if conflicting > CONTENDED:
        low = begin
    if conflicting > CROWDED:
        high = min(high, max(end, begin + CROWDED_PAGES) - 1)
    lock.low[k] = low
    lock.high[k] = high


@kernel
def _grant(w: World, home: int, s: int, now_us: float) -> None:
    lock = w.lock
    k = w.sim.lock_free[0]
    if k == NONE:
        w.sim.full[0] = LOCKS_FULL
        return
    w.sim.lock_free[0] = lock.next[k]
    lock.file[k] = w.stream.file[s]
    lock.direction[k] = w.stream.direction[s]
    lock.state[k] = LOCK_GRANTED
    lock.users[k] = 1
    lock.extents[k] = 0
    lock.called[k] = 0
    lock.heard[k] = 0
    _widen(w, home, k, s)
    lock.next[k] = w.file.lock_head[home]
    w.file.lock_head[home] = k
    w.file.lock_count[home] += 1
    w.stream.lock[s] = k
    schedule(w, to_client(w, w.stream.file[s], now_us), LOCK_ARRIVES, s)


@kernel
def _serve_queue(w: World, home: int, now_us: float) -> None:
    s = w.file.wanted_head[home]
    while s != NONE and _grantable(w, home, s, now_us):
        w.file.wanted_head[home] = w.stream.next_wanted[s]
        if w.file.wanted_head[home] == NONE:
            w.file.wanted_tail[home] = NONE
        _grant(w, home, s, now_us)
        s = w.file.wanted_head[home]


@kernel
def lock_wanted(w: World, s: int, now_us: float) -> None:
    """A client's request for a lock is at the OST."""
    home = w.file.home[w.stream.file[s]]
    last = w.file.wanted_tail[home]
    w.stream.next_wanted[s] = NONE
    if last == NONE:
        w.file.wanted_head[home] = s
    else:
        w.stream.next_wanted[last] = s
    w.file.wanted_tail[home] = s
    _serve_queue(w, home, now_us)


@kernel
def lock_arrives(w: World, s: int) -> None:
    """The grant is at the client, for the call that asked and those that follow."""
    if w.stream.lock[s] != NONE:
        w.lock.state[w.stream.lock[s]] = LOCK_HELD


@kernel
def _give_up(w: World, k: int, now_us: float) -> None:
    f = w.lock.file[k]
    dropped = discard(w, f, w.lock.low[k], w.lock.high[k])
    spent_us = dropped * w.client.lru_free_us_page[w.osc.client[w.file.osc[f]]]
    w.lock.state[k] = LOCK_CANCELLING
    w.file.called_back[f] -= 1
    schedule(w, to_server(w, f, now_us + spent_us), LOCK_CANCELLED, k)


@kernel
def _write_back(w: World, k: int, now_us: float) -> None:
    """Nobody uses a called-back lock any more: send what is dirty under it, before everything else."""
    f = w.lock.file[k]
    if w.lock.direction[k] == WRITE:
        e = next_cached(w, f, 0)
        while e != NONE:
            following = w.extent.start[e] + w.extent.pages[e]
            if w.extent.lock[e] == k and w.extent.kind[e] != HIGH_PRIORITY:
                delist(w, e)
                enlist(w, e, HIGH_PRIORITY)
            e = next_cached(w, f, following)
        send_rpcs(w, w.file.osc[f], now_us)
    if w.lock.extents[k] == 0:
        _give_up(w, k, now_us)


@kernel
def _free(w: World, k: int) -> None:
    w.lock.next[k] = w.sim.lock_free[0]
    w.sim.lock_free[0] = k


@kernel
def lock_called_back(w: World, k: int, now_us: float) -> None:
    """The OST wants a lock back; calls under way may finish first."""
    w.lock.heard[k] = 1
    if w.lock.state[k] == LOCK_GONE:
        _free(w, k)
        return
    if w.lock.state[k] == LOCK_CANCELLING:
        return
    w.file.called_back[w.lock.file[k]] += 1
    if w.lock.users[k] == 0:
        _write_back(w, k, now_us)


@kernel
def leave_lock(w: World, s: int, now_us: float) -> None:
    """A call has ended: its lock stays with the client unless it was called back."""
    k = w.stream.lock[s]
    w.stream.lock[s] = NONE
    w.file.lock[w.stream.file[s]] = NONE
    if k == NONE:
        return
    w.lock.users[k] -= 1
    if w.lock.users[k] == 0 and w.lock.heard[k] == 1 and w.lock.state[k] == LOCK_HELD:
        _write_back(w, k, now_us)


@kernel
def settle_locks(w: World, f: int, now_us: float) -> None:
    """An RPC of the file has ended: give up the called-back locks that wait for nothing more."""
    if w.file.called_back[f] == 0:
        return
    k = w.file.lock_head[w.file.home[f]]
    while k != NONE:
        mine = w.lock.file[k] == f and w.lock.heard[k] == 1 and w.lock.state[k] == LOCK_HELD
        if mine and w.lock.users[k] == 0 and w.lock.extents[k] == 0:
            _give_up(w, k, now_us)
        k = w.lock.next[k]


@kernel
def _unlink(w: World, home: int, k: int) -> None:
    before = w.file.lock_head[home]
    if before == k:
        w.file.lock_head[home] = w.lock.next[k]
    else:
        while w.lock.next[before] != k:
            before = w.lock.next[before]
        w.lock.next[before] = w.lock.next[k]
    w.file.lock_count[home] -= 1


@kernel
def lock_cancelled(w: World, k: int, now_us: float) -> None:
    """The OST has a lock back: the next in the queue may have what it waits for."""
    home = w.file.home[w.lock.file[k]]
    _unlink(w, home, k)
    if w.lock.called[k] == 1 and w.lock.heard[k] == 0:
        # The call for it is still on its way and names this record.
        w.lock.state[k] = LOCK_GONE
    else:
        _free(w, k)
    _serve_queue(w, home, now_us)


@kernel
def forfeit_locks(w: World, f: int, now_us: float) -> None:
    """The OST has evicted the file's client: whatever locks it held are void at once."""
    k = w.file.lock_head[w.file.home[f]]
    while k != NONE:
        # One that is still on its way was granted to the client that comes back.
        if w.lock.file[k] == f and w.lock.state[k] == LOCK_HELD:
            if w.lock.heard[k] == 1:
                w.file.called_back[f] -= 1
            w.lock.state[k] = LOCK_CANCELLING
            schedule(w, now_us, LOCK_CANCELLED, k)
        k = w.lock.next[k]
    w.file.lock[f] = NONE
