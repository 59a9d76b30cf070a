"""Bulk data between nodes whose processors are modelled: one hands it over, the wire carries it, the other copies it.

An RPC's messages follow each other; those of several RPCs take turns, as they do on parallel connections, or a
write's leave as the server asked for them, RPC by RPC. A
receiver is at work on a piece while the wire brings the next one, so a large RPC does not wait for its last byte to
arrive before its first is copied. Pieces are 64 KiB, what TCP hands up at once.
"""

from __future__ import annotations

from penstock.simulate.kernel.calendar import MESSAGE_LEAVES, SEGMENT_ARRIVES, schedule
from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.cores import client_free_us, on_client, on_server
from penstock.simulate.kernel.network import MESSAGE_BYTES, link_between, send_bulk
from penstock.simulate.kernel.records import PAGE, READ, World

SEGMENT_PAGES = 16
MESSAGE_PAGES = MESSAGE_BYTES // PAGE


@kernel
def _oss_of(w: World, r: int) -> int:
    return w.ost.oss[w.osc.ost[w.rpc.osc[r]]]


@kernel
def _segment_us(w: World, r: int, now_us: float) -> float:
    """When the wire has brought the next piece of what was sent."""
    rpc = w.rpc
    part = min(rpc.received[r] + SEGMENT_PAGES, rpc.sent[r]) - rpc.sent_before[r]
    if part <= 0:
        return now_us
    share = float(part) / float(rpc.sent[r] - rpc.sent_before[r])
    return max(now_us, rpc.first_us[r] + (rpc.last_us[r] - rpc.first_us[r]) * share)


@kernel
def message_leaves(w: World, r: int, now_us: float) -> None:
    """The way is free for an RPC's next message; what it carried before is on the wire."""
    rpc = w.rpc
    s = _oss_of(w, r)
    c = w.osc.client[rpc.osc[r]]
    if rpc.direction[r] == READ:
        link, sender, receiver = link_between(w, c, s, 0), w.oss.nic[s], w.client.nic[c]
    else:
        link, sender, receiver = link_between(w, c, s, 1), w.client.nic[c], w.oss.nic[s]
    idle = rpc.received[r] == rpc.sent[r]
    pages = rpc.pages[r]
    rpc.sent_before[r] = rpc.sent[r]
    rpc.sent[r] = pages if w.link.in_order[link] == 1 else min(rpc.sent[r] + MESSAGE_PAGES, pages)
    # The wire carries what is handed over while the processor goes on with the rest.
    first = min(rpc.sent_before[r] + SEGMENT_PAGES, pages)
    ready_us = rpc.ready_us[r] - rpc.hand_us[r] * (1.0 - float(first) / float(pages))
    handed_us = rpc.ready_us[r] - rpc.hand_us[r] * (1.0 - float(rpc.sent[r]) / float(pages))
    size = (rpc.sent[r] - rpc.sent_before[r]) * PAGE
    arrival_us = send_bulk(w, link, sender, receiver, size, max(now_us, ready_us))
    slower = max(w.nic.us_per_byte[sender], w.nic.us_per_byte[receiver])
    rpc.first_us[r] = arrival_us - size * max(slower, w.link.us_per_byte[link])
    rpc.last_us[r] = max(arrival_us, handed_us + w.link.latency_us[link])
    if rpc.sent[r] < pages:
        schedule(w, max(now_us, arrival_us - w.link.latency_us[link]), MESSAGE_LEAVES, r)
    if idle:
        schedule(w, _segment_us(w, r, now_us), SEGMENT_ARRIVES, r)


@kernel
def start_bulk(w: World, r: int, now_us: float) -> None:
    """The sender's processor begins to hand an RPC's data to the network."""
    rpc = w.rpc
    s = _oss_of(w, r)
    c = w.osc.client[rpc.osc[r]]
    messages = (rpc.pages[r] + MESSAGE_PAGES - 1) // MESSAGE_PAGES
    if rpc.direction[r] == READ:
        rpc.hand_us[r] = messages * w.oss.message_us[s] + rpc.pages[r] * w.oss.send_us_page[s]
        rpc.ready_us[r] = on_server(w, s, rpc.hand_us[r], now_us)
    else:
        begin_us = client_free_us(w, c, now_us)
        work_us = messages * w.client.message_us[c] + rpc.pages[r] * w.client.send_us_page[c]
        rpc.ready_us[r] = on_client(w, c, work_us, now_us)
        # However long the work takes this time, the first piece leaves when it begins. (The same for reads puts
        # four readers into step that are not: docs/explanation/fidelity.md.)
        rpc.hand_us[r] = rpc.ready_us[r] - begin_us
    rpc.sent[r] = 0
    rpc.received[r] = 0
    first_us = rpc.ready_us[r] - rpc.hand_us[r] * (1.0 - min(1.0, float(SEGMENT_PAGES) / float(rpc.pages[r])))
    schedule(w, max(now_us, first_us), MESSAGE_LEAVES, r)


@kernel
def receive_segment(w: World, r: int, now_us: float) -> float:
    """A piece is there to be copied; returns when all of the RPC is, or -1 while more is to come."""
    rpc = w.rpc
    s = _oss_of(w, r)
    c = w.osc.client[rpc.osc[r]]
    pages = min(SEGMENT_PAGES, rpc.sent[r] - rpc.received[r])
    begins = rpc.received[r] % MESSAGE_PAGES == 0
    if rpc.direction[r] == READ:
        work_us = pages * w.client.receive_us_page[c] + (w.client.message_us[c] if begins else 0.0)
        done_us = on_client(w, c, work_us, now_us)
    else:
        work_us = pages * w.oss.receive_us_page[s] + (w.oss.message_us[s] if begins else 0.0)
        done_us = on_server(w, s, work_us, now_us)
    rpc.received[r] += pages
    if rpc.received[r] == rpc.pages[r]:
        return done_us
    if rpc.received[r] < rpc.sent[r]:
        schedule(w, _segment_us(w, r, done_us), SEGMENT_ARRIVES, r)
    return -1.0
