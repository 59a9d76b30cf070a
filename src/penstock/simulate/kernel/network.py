"""The network: one pipe per node and direction, 1 MB LNet messages, 8 credits per peer.

A pipe sends one message after the other. Beyond `peer_credits` messages under way to one peer, the next waits for
the oldest to be acknowledged. Small requests carry next to no data but queue behind bulk in their sender's pipe.
Requests and replies that carry the data of a short RPC themselves are sent like bulk.
"""

from __future__ import annotations

from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.records import World

MESSAGE_BYTES = 1 << 20
# socklnd acknowledges (and returns the credit for) zero-copy messages only; smaller ones are copied and done.
ACKNOWLEDGED_BYTES = 16 << 10


@kernel
def link_between(w: World, c: int, s: int, outward: int) -> int:
    """The link of a client and an OSS: towards the server (1) or the client (0)."""
    return 2 * (c * w.oss.shape[0] + s) + outward


@kernel
def send_small(w: World, link: int, sender: int, now_us: float) -> float:
    """When a request or reply handed over now arrives."""
    start_us = max(now_us, w.nic.send_free_us[sender])
    if w.link.behind_us[link] > 0.0:
        # It has a connection of its own: of the bulk only what is under way already is before it.
        start_us = min(start_us, now_us + w.link.behind_us[link])
    return start_us + w.link.latency_us[link]


@kernel
def room_us(w: World, link: int, sender: int, size: int, asked_us: float) -> float:
    """When the sender of bulk data that is asked for then begins to hand it over.

    In order, that is when all asked for before has left but a window. Otherwise at once.
    """
    if w.link.in_order[link] == 0:
        return asked_us
    begin_us = max(asked_us, w.link.promised_us[link])
    w.link.promised_us[link] = begin_us + size * w.nic.us_per_byte[sender]
    return max(asked_us, begin_us - w.link.behind_us[link])


@kernel
def send_bulk(w: World, link: int, sender: int, receiver: int, size: int, now_us: float) -> float:
    """When the last byte of data handed over now arrives; both pipes are busy for their part of that time.

    Requests and replies that carry the data of a short RPC are sent like this too: LNet has no other way for them.
    """
    credits = w.credit.shape[1]
    latency_us = w.link.latency_us[link]
    arrival_us = now_us
    while size > 0:
        message = min(size, MESSAGE_BYTES)
        turn = w.link.turn[link]
        start_us = max(max(now_us, w.nic.send_free_us[sender]), w.credit[link, turn])
        sent_us = start_us + message * w.nic.us_per_byte[sender]
        w.nic.send_free_us[sender] = sent_us
        if w.link.us_per_byte[link] > 0.0:
            # What TCP may have under way to this peer is less than the pipe carries: others may use the rest.
            start_us = max(start_us, w.link.free_us[link])
            sent_us = start_us + message * max(w.link.us_per_byte[link], w.nic.us_per_byte[sender])
            w.link.free_us[link] = sent_us
        w.credit[link, turn] = sent_us + (2.0 * latency_us if message >= ACKNOWLEDGED_BYTES else 0.0)
        w.link.turn[link] = (turn + 1) % credits
        receiving_us = max(w.nic.receive_free_us[receiver], start_us + latency_us)
        w.nic.receive_free_us[receiver] = receiving_us + message * w.nic.us_per_byte[receiver]
        arrival_us = max(sent_us + latency_us, w.nic.receive_free_us[receiver])
        size -= message
    return arrival_us
