"""From a client's requests to their data: slots, the server, and a link on which everything keeps its order.

A server reads all of a request, then sends it in messages of 1 MiB. Where bulk data is acknowledged, it replies once
the client has said that all is there; by then the reply waits behind whatever else was sent. So requests that were
sent together are answered together, and the link is idle until the next ones come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

from penstock.simulate.cluster import Cluster
from penstock.simulate.metadata.virtual_time import Process, Processor, Resume, Slots, Timeline

BLOCK_BYTES = 1 << 16
BLOCK_PAGES = 16
MESSAGE_BLOCKS = 16


@dataclass(slots=True, eq=False)
class ReadRequest:
    """One RPC: its blocks, whether they have arrived, and who waits for them. `ahead` are of readahead."""

    blocks: int
    ahead: int
    is_done: bool = False
    waiting: list[Resume] = field(default_factory=list)

    def arrived(self, resume: Resume) -> None:
        """Go on when it has arrived."""
        self.waiting.append(resume)


@dataclass(slots=True)
class Link:
    """A client's way in: messages arrive in the order in which they were sent, small ones behind large ones.

    Small messages have a connection of their own, so that at most `ahead_bytes` are before them; 0 means all are.
    """

    engine: Timeline
    bytes_per_s: float
    delay_s: float
    ahead_bytes: float
    _free_s: float = 0.0

    def send(self, blocks: int, delivered: Callable[[], None]) -> None:
        """Send a message."""
        begins_s = max(self.engine.now_s, self._free_s)
        self._free_s = begins_s + blocks * BLOCK_BYTES / self.bytes_per_s
        self.engine.after(self._free_s + self.delay_s - self.engine.now_s, delivered)

    def send_small(self, delivered: Callable[[], None]) -> None:
        """Send a message that takes no time itself."""
        wait_s = max(self._free_s - self.engine.now_s, 0.0)
        if self.ahead_bytes:
            wait_s = min(wait_s, self.ahead_bytes / self.bytes_per_s)
        self.engine.after(wait_s + self.delay_s, delivered)


@dataclass(slots=True)
class Traffic:
    """What one data path did since the beginning.

    `sent` and `answered` count requests by their blocks, `flying` those sent as the n-th under way.
    """

    requests: int = 0
    bytes: int = 0
    usec: float = 0.0
    least_usec: float = float("inf")
    most_usec: float = 0.0
    #: The sum of the squares.
    usec_squares: float = 0.0
    sent: Counter[int] = field(default_factory=Counter)
    answered: Counter[int] = field(default_factory=Counter)
    flying: Counter[int] = field(default_factory=Counter)

    def begin(self, blocks: int, under_way: int) -> None:
        """A request is sent."""
        self.sent[blocks] += 1
        self.flying[under_way] += 1

    def end(self, blocks: int, took_us: float) -> None:
        """It was answered."""
        self.requests += 1
        self.bytes += blocks * BLOCK_BYTES
        self.usec += took_us
        self.least_usec = min(self.least_usec, took_us)
        self.most_usec = max(self.most_usec, took_us)
        self.usec_squares += took_us * took_us
        self.answered[blocks] += 1


@dataclass(slots=True)
class ReadPath:
    """A client's data path to one OST. One more request than `flight` may be under way, as in Lustre."""

    engine: Timeline
    cluster: Cluster
    processor: Processor
    link: Link
    flight: int
    rng: Random
    traffic: Traffic = field(default_factory=Traffic)
    slots: Slots = field(init=False)
    _server: Processor = field(init=False)
    _device: Processor = field(init=False)

    def __post_init__(self) -> None:
        server = self.cluster.server
        self.slots = Slots(self.engine, self.flight + 1)
        self._server = Processor(self.engine, server.cores or server.threads)
        self._device = Processor(self.engine, 1)

    def carry(self, request: ReadRequest, near: bool, finished: Callable[[], None]) -> Process:
        """Send a request and deal with its answer."""
        client, server, network = self.cluster.client, self.cluster.server, self.cluster.network
        device, pages = self.cluster.device, request.blocks * BLOCK_PAGES
        cheap_pages = pages * self.cluster.readahead.page_cost_ratio
        yield self.slots.take()
        sent_s = self.engine.now_s
        self.traffic.begin(request.blocks, self.slots.used)
        yield self.processor.work(client.build_read_us * 1e-6)
        yield network.round_trip_us * 0.5e-6
        part = server.request_exponential_ratio
        request_us = server.request_us * (1.0 - part + part * self.rng.expovariate(1.0))
        pages_us = cheap_pages * (server.checksum_us_per_page + server.send_us_per_page)
        yield self._server.work((request_us + server.reply_us + pages_us) * 1e-6)
        far_us = 0.0 if near else device.random_read_us
        yield self._device.work((device.read_rpc_us + far_us + pages * device.read_us_per_page) * 1e-6)
        yield from self._receive(request.blocks)
        if network.bulk_acknowledged:
            yield network.round_trip_us * 0.5e-6
            yield self.link.send_small
        yield self.processor.work((client.reply_read_us + cheap_pages * client.reply_us_per_page) * 1e-6)
        self.slots.give()
        self.traffic.end(request.blocks, (self.engine.now_s - sent_s) * 1e6)
        finished()

    def _receive(self, blocks: int) -> Process:
        """Wait until all messages are here and the client has taken them from the network."""
        client, left, done = self.cluster.client, blocks, list[Resume]()

        def taken(part: int) -> None:
            nonlocal left
            left -= part
            if not left:
                done.pop()()

        def delivered(part: int) -> None:
            cheap_pages = part * BLOCK_PAGES * self.cluster.readahead.page_cost_ratio
            cost_s = (client.message_us + cheap_pages * client.receive_us_per_page) * 1e-6
            self.engine.after(self.processor.work(cost_s), lambda: taken(part))

        def wait(resume: Resume) -> None:
            done.append(resume)
            for first in range(0, blocks, MESSAGE_BLOCKS):
                part = min(MESSAGE_BLOCKS, blocks - first)
                self.link.send(part, partial(delivered, part))

        yield wait
