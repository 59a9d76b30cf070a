"""The object storage server: a pool of threads, each held by one RPC from arrival to reply.

A read is store-and-forward: all data from the device, checksum, bulk to the client. A write pulls its bulk,
then waits for the device. RPCs beyond the pool queue in order of arrival.

Where processors are modelled (`sim.paced`) every step that takes their time is an event of its own, because who
comes first is known only then; elsewhere these times are delays, added up at once.
"""

from __future__ import annotations

from penstock.simulate.kernel.calendar import (
    BULK_ACKNOWLEDGED,
    BULK_ARRIVES,
    BULK_ASKED_FOR,
    DEVICE_DONE,
    IMPORT_TIMES_OUT,
    REPLY_ARRIVES,
    REPLY_IS_IN,
    REQUEST_IS_READ,
    schedule,
)
from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.cores import on_client, on_server
from penstock.simulate.kernel.disk import disk_done, is_disk, queue_on_disk
from penstock.simulate.kernel.foresight import foresee_counters, foresee_reply
from penstock.simulate.kernel.network import link_between, room_us, send_bulk, send_small
from penstock.simulate.kernel.rangelock import lock_range, next_unlocked, unlock_range
from penstock.simulate.kernel.records import NONE, PAGE, READ, World
from penstock.simulate.kernel.replies import deal_with_reply
from penstock.simulate.kernel.rng import exponential
from penstock.simulate.kernel.ssd import end_work, start_work
from penstock.simulate.kernel.transfer import receive_segment, start_bulk

SHORT_PAGES = (16 << 10) // PAGE


@kernel
def server_of(w: World, r: int) -> int:
    """The OSS that serves an RPC."""
    return w.ost.oss[w.osc.ost[w.rpc.osc[r]]]


@kernel
def await_timeout(w: World, o: int, now_us: float) -> None:
    """The OST does not answer an OSC, which will notice after a while."""
    if w.osc.timer[o] == 0:
        w.osc.timer[o] = 1
        schedule(w, now_us + w.ost.timeout_us[w.osc.ost[o]], IMPORT_TIMES_OUT, o)


@kernel
def _goes_unheard(w: World, r: int, now_us: float) -> bool:
    """Whether the OST is down: then the RPC is lost until its client sends it again."""
    o = w.rpc.osc[r]
    if w.ost.down[w.osc.ost[o]] == 0:
        return False
    w.rpc.lost[r] = 1
    await_timeout(w, o, now_us)
    return True


@kernel
def is_short(w: World, r: int) -> bool:
    """Whether an RPC's data travels in the request or the reply itself."""
    return w.rpc.fragments[r] == 1 and w.rpc.pages[r] <= SHORT_PAGES


@kernel
def _to_device(w: World, r: int, now_us: float) -> None:
    d = w.ost.ssd[w.osc.ost[w.rpc.osc[r]]]
    if is_disk(w, d):
        queue_on_disk(w, d, r, now_us)
        return
    schedule(w, start_work(w, d, r, now_us), DEVICE_DONE, r)


@kernel
def _pull(w: World, r: int, now_us: float) -> None:
    if is_short(w, r):
        _to_device(w, r, now_us)
        return
    s = server_of(w, r)
    c = w.osc.client[w.rpc.osc[r]]
    asked_us = send_small(w, link_between(w, c, s, 0), w.oss.nic[s], now_us)
    link = link_between(w, c, s, 1)
    if w.sim.paced[0] == 1:
        size = w.rpc.pages[r] * PAGE
        schedule(w, room_us(w, link, w.client.nic[c], size, asked_us), BULK_ASKED_FOR, r)
        return
    arrival_us = send_bulk(w, link, w.client.nic[c], w.oss.nic[s], w.rpc.pages[r] * PAGE, asked_us)
    # Checksum per page and block mapping per fragment take the thread's time, not the device's.
    ready_us = arrival_us + w.rpc.pages[r] * w.oss.page_us[s] + w.rpc.fragments[r] * w.oss.fragment_us[s]
    schedule(w, ready_us, BULK_ARRIVES, r)


@kernel
def request_is_read(w: World, r: int, now_us: float) -> None:
    """The thread knows what is wanted: data from the device, or from the client."""
    if w.rpc.direction[r] == READ:
        _to_device(w, r, now_us)
    elif w.ost.range_lock[w.osc.ost[w.rpc.osc[r]]] == 0 or lock_range(w, r):
        _pull(w, r, now_us)


@kernel
def _way_in_us(w: World, s: int) -> float:
    """The server's latency before it touches the device: part fixed, part exponential."""
    random_us = w.oss.request_us[s] * w.oss.request_exponential[s]
    if random_us <= 0.0:
        return w.oss.request_us[s]
    return w.oss.request_us[s] - random_us + exponential(w, w.oss.rng[s], random_us)


@kernel
def _begin(w: World, r: int, now_us: float) -> None:
    """A thread takes the request up."""
    if w.sim.paced[0] == 0:
        request_is_read(w, r, now_us)
        return
    s = server_of(w, r)
    read_us = on_server(w, s, _way_in_us(w, s) + w.oss.message_us[s], now_us)
    schedule(w, read_us, REQUEST_IS_READ, r)


@kernel
def request_arrives(w: World, r: int, now_us: float) -> None:
    """A request is in: give it a thread or let it queue."""
    if _goes_unheard(w, r, now_us):
        return
    s = server_of(w, r)
    if w.oss.busy[s] < w.oss.threads[s]:
        w.oss.busy[s] += 1
        _begin(w, r, now_us)
        return
    w.rpc.next[r] = NONE
    if w.oss.queue_tail[s] == NONE:
        w.oss.queue_head[s] = r
    else:
        w.rpc.next[w.oss.queue_tail[s]] = r
    w.oss.queue_tail[s] = r


@kernel
def _free_thread(w: World, s: int, now_us: float) -> None:
    r = w.oss.queue_head[s]
    while r != NONE and _goes_unheard(w, r, now_us):
        r = w.rpc.next[r]
    if r == NONE:
        w.oss.queue_head[s] = NONE
        w.oss.queue_tail[s] = NONE
        w.oss.busy[s] -= 1
        return
    w.oss.queue_head[s] = w.rpc.next[r]
    if w.oss.queue_head[s] == NONE:
        w.oss.queue_tail[s] = NONE
    _begin(w, r, now_us)


@kernel
def _leave(w: World, r: int, now_us: float) -> None:
    """The server is done with an RPC: its range and its thread are free."""
    if w.ost.range_lock[w.osc.ost[w.rpc.osc[r]]] == 1 and w.rpc.direction[r] != READ:
        unlock_range(w, r)
        home = w.file.home[w.rpc.file[r]]
        waiter = next_unlocked(w, home)
        while waiter != NONE:
            _pull(w, waiter, now_us)
            waiter = next_unlocked(w, home)
    _free_thread(w, server_of(w, r), now_us)


@kernel
def bulk_arrives(w: World, r: int, now_us: float) -> None:
    """A write's data is in the server's memory and checked."""
    if _goes_unheard(w, r, now_us):
        _leave(w, r, now_us)
    else:
        foresee_counters(w, r)
        _to_device(w, r, now_us)


@kernel
def _replied_us(w: World, r: int, link: int, now_us: float) -> float:
    """When a reply handed over now arrives."""
    sender = w.oss.nic[server_of(w, r)]
    if w.rpc.direction[r] == READ and is_short(w, r):
        receiver = w.client.nic[w.osc.client[w.rpc.osc[r]]]
        return send_bulk(w, link, sender, receiver, w.rpc.pages[r] * PAGE, now_us)
    return send_small(w, link, sender, now_us)


@kernel
def _reply(w: World, r: int, more_us: float, now_us: float) -> None:
    s = server_of(w, r)
    link = link_between(w, w.osc.client[w.rpc.osc[r]], s, 0)
    done_us = on_server(w, s, w.oss.reply_us[s] + w.oss.message_us[s] + more_us, now_us)
    schedule(w, _replied_us(w, r, link, done_us), REPLY_IS_IN, r)
    _leave(w, r, now_us)


@kernel
def _answer(w: World, r: int, now_us: float) -> None:
    """The device is done and the processors are modelled: send the data, or the reply."""
    s = server_of(w, r)
    if w.rpc.direction[r] != READ:
        _reply(w, r, 0.0, now_us)
    elif is_short(w, r):
        _reply(w, r, w.rpc.pages[r] * (w.oss.page_us[s] + w.oss.send_us_page[s]), now_us)
    else:
        start_bulk(w, r, on_server(w, s, w.rpc.pages[r] * w.oss.page_us[s], now_us))
        if w.oss.acknowledged[s] == 0:
            _leave(w, r, now_us)


@kernel
def device_done(w: World, r: int, now_us: float) -> None:
    """The device has read or written everything: answer, and let others go on."""
    o = w.rpc.osc[r]
    t = w.osc.ost[o]
    s = w.ost.oss[t]
    c = w.osc.client[o]
    d = w.ost.ssd[t]
    if is_disk(w, d):
        disk_done(w, d, now_us)
    else:
        end_work(w, d, r)
    if _goes_unheard(w, r, now_us):
        _leave(w, r, now_us)
        return
    link = link_between(w, c, s, 0)
    pages = w.rpc.pages[r]
    if w.rpc.direction[r] != READ:
        w.ost.written[t] += pages
    if w.sim.paced[0] == 1:
        _answer(w, r, now_us)
        return
    if w.rpc.direction[r] == READ:
        checked_us = now_us + pages * w.oss.page_us[s]
        arrival_us = send_bulk(w, link, w.oss.nic[s], w.client.nic[c], pages * PAGE, checked_us)
        arrival_us += w.client.reply_read_us[c] + pages * w.client.reply_us_page[c]
    else:
        arrival_us = send_small(w, link, w.oss.nic[s], now_us) + w.client.reply_write_us[c]
    foresee_reply(w, r)
    schedule(w, arrival_us + w.oss.reply_us[s], REPLY_ARRIVES, r)
    _leave(w, r, now_us)


@kernel
def bulk_asked_for(w: World, r: int, now_us: float) -> None:
    """The server's wish for a write's data is at the client."""
    c = w.osc.client[w.rpc.osc[r]]
    start_bulk(w, r, on_client(w, c, w.client.message_us[c], now_us))


@kernel
def segment_arrives(w: World, r: int, now_us: float) -> None:
    """A piece of an RPC's data is at its receiver; the last one lets the RPC go on."""
    done_us = receive_segment(w, r, now_us)
    if done_us < 0.0:
        return
    s = server_of(w, r)
    c = w.osc.client[w.rpc.osc[r]]
    if w.rpc.direction[r] != READ:
        work_us = w.rpc.pages[r] * w.oss.page_us[s] + w.rpc.fragments[r] * w.oss.fragment_us[s]
        schedule(w, on_server(w, s, work_us, done_us), BULK_ARRIVES, r)
    elif w.oss.acknowledged[s] == 0:
        schedule(w, done_us, REPLY_IS_IN, r)
    else:
        schedule(w, send_small(w, link_between(w, c, s, 1), w.client.nic[c], done_us), BULK_ACKNOWLEDGED, r)


@kernel
def bulk_acknowledged(w: World, r: int, now_us: float) -> None:
    """The server knows that its data has arrived: only now it replies."""
    if _goes_unheard(w, r, now_us):
        _leave(w, r, now_us)
    else:
        _reply(w, r, w.oss.message_us[server_of(w, r)], now_us)


@kernel
def reply_is_in(w: World, r: int, now_us: float) -> None:
    """A reply is at the client, whose processor has to deal with it and with the pages it is about."""
    c = w.osc.client[w.rpc.osc[r]]
    fixed_us = w.client.reply_read_us[c] if w.rpc.direction[r] == READ else w.client.reply_write_us[c]
    w.rpc.replied_us[r] = on_client(w, c, fixed_us + w.client.message_us[c], now_us)
    deal_with_reply(w, r, w.rpc.replied_us[r])


@kernel
def reach_server(w: World, s: int, arrival_us: float) -> float:
    """When a request that arrives then is seen by the server's threads."""
    return arrival_us if w.sim.paced[0] == 1 else arrival_us + _way_in_us(w, s)


@kernel
def commit_journal(w: World, t: int, now_us: float) -> None:
    """The journal's own writes keep the device busy for a moment, if anything was written since the last time."""
    if w.ost.written[t] > 0:
        d = w.ost.ssd[t]
        w.ssd.free_us[d] = max(now_us, w.ssd.free_us[d]) + w.ost.journal_us[t]
        w.ssd.busy_us[d] += w.ost.journal_us[t]
        w.ost.written[t] = 0
