"""The network: one pipe per node and direction, 1 MB LNet messages, 8 credits per peer.

A pipe sends one message after the other. Beyond `peer_credits` messages under way to one peer, the next waits for
the oldest to be acknowledged. Small requests carry next to no data but queue behind bulk in their sender's pipe.
Requests and replies that carry the data of a short RPC take the pipes' time for it like bulk, but no credit.
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
def _carry(w: World, link: int, sender: int, receiver: int, size: int, start_us: float) -> float:
    """Send one message no sooner than then, and answer when it has left. Both pipes are busy for their part of it."""
    start_us = max(start_us, w.nic.send_free_us[sender])
    sent_us = start_us + size * w.nic.us_per_byte[sender]
    w.nic.send_free_us[sender] = sent_us
    if w.link.us_per_byte[link] > 0.0:
        # What TCP may have under way to this peer is less than the pipe carries: others may use the rest.
        start_us = max(start_us, w.link.free_us[link])
        sent_us = start_us + size * max(w.link.us_per_byte[link], w.nic.us_per_byte[sender])
        w.link.free_us[link] = sent_us
    receiving_us = max(w.nic.receive_free_us[receiver], start_us + w.link.latency_us[link])
    w.nic.receive_free_us[receiver] = receiving_us + size * w.nic.us_per_byte[receiver]
    return sent_us


@kernel
def send_with_data(w: World, link: int, sender: int, receiver: int, size: int, now_us: float) -> float:
    """When a request or reply that carries so many bytes of data itself arrives.

    It uses the connection of bulk data: only what is smaller than 1 KiB has one of its own.
    """
    sent_us = _carry(w, link, sender, receiver, size, now_us)
    return max(sent_us + w.link.latency_us[link], w.nic.receive_free_us[receiver])


@kernel
def send_bulk(w: World, link: int, sender: int, receiver: int, size: int, now_us: float) -> float:
    """When the last byte of bulk data handed over now arrives; both pipes are busy for their part of that time."""
    credits = w.credit.shape[1]
    latency_us = w.link.latency_us[link]
    arrival_us = now_us
    while size > 0:
        message = min(size, MESSAGE_BYTES)
        turn = w.link.turn[link]
        sent_us = _carry(w, link, sender, receiver, message, max(now_us, w.credit[link, turn]))
        w.credit[link, turn] = sent_us + (2.0 * latency_us if message >= ACKNOWLEDGED_BYTES else 0.0)
        w.link.turn[link] = (turn + 1) % credits
        arrival_us = max(sent_us + latency_us, w.nic.receive_free_us[receiver])
        size -= message
    return arrival_us
