"""Builds RPCs: when one is due, which extents go into it, and which file's turn it is for a slot."""

from __future__ import annotations

from penstock.simulate.kernel.calendar import BUILDER_IS_FREE, REQUEST_ARRIVES, RPC_IS_DUE, schedule
from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.cores import by_daemon
from penstock.simulate.kernel.counters import account, tally_send
from penstock.simulate.kernel.extents import depart
from penstock.simulate.kernel.network import link_between, send_bulk, send_small
from penstock.simulate.kernel.offsets import next_cached
from penstock.simulate.kernel.queues import delist, head_of
from penstock.simulate.kernel.records import LAST_PAGE, NONE, PAGE, READ, ROOMY, RPCS_FULL, WRITE, World
from penstock.simulate.kernel.server import is_short, reach_server, server_of
from penstock.simulate.kernel.states import FULL, FULL_IMPORT, HIGH_PRIORITY, TO_READ, URGENT

EXTENTS_PER_RPC = 256
# So many records each OSC may use: the largest setting's and some for what ignores it.
RPCS_PER_OSC = 272
# Whom a pass over the objects is for.
ANYONE, READERS, URGENT_ONLY = 0, 1, 2


@kernel
def _new_rpc(w: World, f: int, direction: int) -> int:
    r = w.sim.rpc_free[0]
    if r == NONE:
        w.sim.full[0] = RPCS_FULL
        return NONE
    rpc = w.rpc
    w.sim.rpc_free[0] = rpc.next[r]
    rpc.direction[r] = direction
    rpc.file[r] = f
    rpc.osc[r] = w.file.osc[f]
    rpc.pages[r] = 0
    rpc.fragments[r] = 0
    rpc.extents[r] = 0
    rpc.low[r] = LAST_PAGE
    rpc.high[r] = -1
    rpc.ext_head[r] = NONE
    rpc.ext_tail[r] = NONE
    rpc.handed_us[r] = 0.0
    rpc.lost[r] = 0
    rpc.dead[r] = 0
    return r


@kernel
def free_rpc(w: World, r: int) -> None:
    """Give an RPC back to the pool."""
    w.rpc.osc[r] = NONE
    w.rpc.next[r] = w.sim.rpc_free[0]
    w.sim.rpc_free[0] = r


@kernel
def _built_us(w: World, r: int, start_us: float) -> float:
    """When an RPC whose build starts then is built, if nobody else needs the processor."""
    c = w.osc.client[w.rpc.osc[r]]
    if w.rpc.direction[r] == READ:
        return start_us + w.client.build_read_us[c]
    built_us = start_us + w.client.build_write_us[c] + w.rpc.pages[r] * w.client.build_write_us_page[c]
    return built_us + w.rpc.extents[r] * w.client.build_write_us_extent[c]


@kernel
def hand_over(w: World, r: int, built_us: float) -> None:
    """Send the request of an RPC that is built then; a short write carries its data itself."""
    c = w.osc.client[w.rpc.osc[r]]
    s = server_of(w, r)
    link = link_between(w, c, s, 1)
    if w.rpc.direction[r] != READ and is_short(w, r):
        size = w.rpc.pages[r] * PAGE
        arrival_us = send_bulk(w, link, w.client.nic[c], w.oss.nic[s], size, built_us)
    else:
        arrival_us = send_small(w, link, w.client.nic[c], built_us)
    schedule(w, reach_server(w, s, arrival_us), REQUEST_ARRIVES, r)


@kernel
def _dispatch(w: World, r: int, now_us: float) -> None:
    """Build the RPC (serially for its OSC: page locks, sorting, checksum) and hand it to the network."""
    rpc = w.rpc
    o = rpc.osc[r]
    pages = rpc.pages[r]
    account(w, o, now_us)
    start_us = max(max(now_us, w.osc.build_free_us[o]), rpc.handed_us[r])
    if rpc.direction[r] == READ:
        w.osc.reads[o] += 1
    else:
        w.osc.writes[o] += 1
        w.file.writing[rpc.file[r]] += 1
    built_us = _built_us(w, r, start_us)
    w.osc.build_free_us[o] = built_us
    rpc.handed_us[r] = built_us
    tally_send(w, o, rpc.direction[r], pages)
    if w.sim.paced[0] == 1:
        schedule(w, start_us, RPC_IS_DUE, r)
    else:
        hand_over(w, r, built_us)


@kernel
def rpc_is_due(w: World, r: int, now_us: float) -> None:
    """The OSC's daemon comes to an RPC: build it as soon as the client's processor has time."""
    o = w.rpc.osc[r]
    c = w.osc.client[o]
    work_us = _built_us(w, r, 0.0) + w.client.message_us[c]
    built_us = by_daemon(w, c, work_us, now_us)
    w.osc.build_free_us[o] = max(w.osc.build_free_us[o], built_us)
    w.rpc.handed_us[r] = built_us
    hand_over(w, r, built_us)


@kernel
def _append(w: World, r: int, e: int) -> None:
    rpc = w.rpc
    start, pages = w.extent.start[e], w.extent.pages[e]
    last = rpc.ext_tail[r]
    w.extent.next[e] = NONE
    if last == NONE:
        rpc.ext_head[r] = e
    else:
        w.extent.next[last] = e
    if last == NONE or w.extent.start[last] + w.extent.pages[last] != start:
        rpc.fragments[r] += 1
    rpc.ext_tail[r] = e
    rpc.extents[r] += 1
    rpc.pages[r] += pages
    rpc.low[r] = min(rpc.low[r], start)
    rpc.high[r] = max(rpc.high[r], start + pages - 1)
    # The RPC's build may not begin before its last extent was queued.
    rpc.handed_us[r] = max(rpc.handed_us[r], w.extent.ready_us[e])


@kernel
def _send_write(w: World, f: int, now_us: float) -> None:
    r = _new_rpc(w, f, WRITE)
    if r == NONE:
        return
    limit = w.osc.pages[w.file.osc[f]]
    count = 0
    for kind in (HIGH_PRIORITY, URGENT, FULL):
        e = head_of(w, f, kind)
        while e != NONE and count < EXTENTS_PER_RPC:
            # An extent keeps the size it was created under, whatever the setting is now.
            limit = max(limit, w.extent.most_pages[e])
            if w.rpc.pages[r] > 0 and w.rpc.pages[r] + w.extent.pages[e] > limit:
                break
            depart(w, e)
            _append(w, r, e)
            count += 1
            e = head_of(w, f, kind)
        if e != NONE and kind != FULL:
            _dispatch(w, r, now_us)
            return
    e = next_cached(w, f, 0) if count < EXTENTS_PER_RPC and w.rpc.pages[r] < limit else NONE
    while e != NONE and count < EXTENTS_PER_RPC:
        limit = max(limit, w.extent.most_pages[e])
        if w.rpc.pages[r] > 0 and w.rpc.pages[r] + w.extent.pages[e] > limit:
            break
        after = w.extent.start[e] + w.extent.pages[e]
        depart(w, e)
        _append(w, r, e)
        count += 1
        e = next_cached(w, f, after)
    _dispatch(w, r, now_us)


@kernel
def _listed(w: World, f: int) -> bool:
    return w.file.hp_head[f] != NONE or w.file.urgent_head[f] != NONE or w.file.full_head[f] != NONE


@kernel
def write_ready(w: World, f: int) -> bool:
    """Whether an object's dirty pages may leave (osc_makes_rpc): there is no timer and no threshold."""
    if w.file.cached_extents[f] == 0:
        return False
    return _listed(w, f) or w.osc.waiters[w.file.osc[f]] > 0


@kernel
def _next_object(w: World, o: int, whom: int) -> int:
    f = w.osc.cursor[o]
    if f == NONE:
        return NONE
    first = f
    while True:
        following = w.file.next_in_osc[f]
        if whom == URGENT_ONLY:
            ready = w.file.hp_head[f] != NONE
        else:
            ready = w.file.reading_head[f] != NONE or (whom == ANYONE and write_ready(w, f))
        if ready:
            w.osc.cursor[o] = following
            return f
        f = following
        if f == first:
            return NONE


@kernel
def _send_read(w: World, f: int, now_us: float) -> None:
    r = _new_rpc(w, f, READ)
    if r == NONE:
        return
    limit = w.osc.pages[w.file.osc[f]]
    e = head_of(w, f, TO_READ)
    while e != NONE:
        limit = max(limit, w.extent.most_pages[e])
        if w.rpc.pages[r] > 0 and w.rpc.pages[r] + w.extent.pages[e] > limit:
            break
        delist(w, e)
        _append(w, r, e)
        e = head_of(w, f, TO_READ)
    _dispatch(w, r, now_us)


@kernel
def _come_back(w: World, o: int) -> None:
    if w.osc.build_pending[o] == 0:
        w.osc.build_pending[o] = 1
        schedule(w, w.osc.build_free_us[o], BUILDER_IS_FREE, o)


@kernel
def send_rpcs(w: World, o: int, now_us: float) -> None:
    """Fill the OSC's free slots (osc_check_rpcs): `flight` + 1 in all, reads and writes together.

    Objects take turns; each turn sends one write, then one read, without looking at the cap in between.
    High-priority writes ignore the cap. Dirty pages are taken when the builder is free to take them: until then
    they may be overwritten in place, and where a writer got its room meanwhile they may stay.
    """
    if w.osc.state[o] != FULL_IMPORT:
        return
    # Even these leave room for the other OSCs' RPCs.
    room = RPCS_PER_OSC - w.osc.reads[o] - w.osc.writes[o]
    while w.osc.high_priority[o] > 0 and room > 0 and w.sim.full[0] == ROOMY:
        room -= 1
        _send_write(w, _next_object(w, o, URGENT_ONLY), now_us)
    while w.osc.reads[o] + w.osc.writes[o] <= w.osc.flight[o] and w.sim.full[0] == ROOMY:
        building = w.osc.build_free_us[o] > now_us
        f = _next_object(w, o, READERS if building else ANYONE)
        if f == NONE:
            if building and w.osc.dirty[o] > 0:
                _come_back(w, o)
            return
        if not building and write_ready(w, f):
            _send_write(w, f, now_us)
        if w.file.reading_head[f] != NONE:
            _send_read(w, f, now_us)


@kernel
def builder_is_free(w: World, o: int, now_us: float) -> None:
    """The OSC's daemon has finished an RPC: is there more to send?"""
    w.osc.build_pending[o] = 0
    send_rpcs(w, o, now_us)
