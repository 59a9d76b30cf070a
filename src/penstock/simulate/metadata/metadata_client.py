"""A client's metadata path: application threads, the slots of its connection, its processor, and statahead.

What a request goes through: a slot of its kind, the client's processor, half a round trip, a thread of the server,
and half a round trip back. The slot is held all the way. The size of a file comes from its OST, with a lock request
that needs no slot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random

from penstock.knobs import Setting
from penstock.simulate.cluster import MetadataSection
from penstock.simulate.metadata.virtual_time import Process, Processor, Resume, Slots, Timeline
from penstock.spaces import mdc, statahead

# A page of a directory holds so many names.
NAMES_PER_PAGE = 1000
# Statahead begins with so many entries and doubles with every batch that was used up.
FIRST_AHEAD = 2
# A client asks whether the server is alive when it mounts and this often from then on.
PING_S = 25.0


@dataclass(slots=True)
class Server:
    """A metadata server, and the OSTs that say how large files are. Both are as far away."""

    engine: Timeline
    about: MetadataSection
    round_trip_s: float
    rng: Random
    threads: Processor = field(init=False)
    targets: Processor = field(init=False)

    def __post_init__(self) -> None:
        self.threads = Processor(self.engine, self.about.service_threads)
        self.targets = Processor(self.engine, self.about.service_threads)

    def work(self, pool: Processor, cost_us: float) -> float:
        """How long a request that arrives now takes there, its turn included."""
        part = self.about.exponential_ratio
        drawn = 1.0 - part + part * self.rng.expovariate(1.0) if part else 1.0
        return pool.work(cost_us * 1e-6 * drawn)


@dataclass(slots=True)
class Done:
    """What was done since the beginning: how often, and how long it took in all."""

    count: int = 0
    usec: float = 0.0
    least_usec: float = math.inf

    def add(self, seconds: float) -> None:
        self.count += 1
        self.usec += seconds * 1e6
        self.least_usec = min(self.least_usec, seconds * 1e6)


@dataclass(slots=True)
class MetadataClient:
    """One client. Counters are cumulative: requests of both kinds, and the operations of applications."""

    server: Server
    setting: Setting = field(default_factory=lambda: mdc().default.replace(statahead().default))
    looked: Done = field(default_factory=Done)
    changed: Done = field(default_factory=Done)
    closed: Done = field(default_factory=Done)
    pinged: Done = field(default_factory=Done)
    operations: Done = field(default_factory=Done)
    #: The same by what applications call: what looks and what changes.
    app_looked: Done = field(default_factory=Done)
    app_changed: Done = field(default_factory=Done)
    processor: Processor = field(init=False)
    slots: Slots = field(init=False)
    mod_slots: Slots = field(init=False)

    def __post_init__(self) -> None:
        engine = self.server.engine
        self.processor = Processor(engine, 1)
        wake_s = self.server.about.slot_wake_us * 1e-6
        self.slots = Slots(engine, self.setting["rpcs"], wake_s)
        self.mod_slots = Slots(engine, self.setting["mod_rpcs"], wake_s)
        engine.start(self.pings())

    def set(self, setting: Setting) -> None:
        """Other limits, at once."""
        self.setting = setting
        self.slots.set(setting["rpcs"])
        self.mod_slots.set(setting["mod_rpcs"])

    @property
    def least_usec(self) -> float:
        """The least time that a request ever took."""
        return min(one.least_usec for one in (self.looked, self.changed, self.closed, self.pinged))

    def pings(self) -> Process:
        """Pings. Threads of their own answer them, so they show how far the server is however busy it is."""
        while True:
            sent_s = self.server.engine.now_s
            yield self.server.work(self.processor, self.server.about.client_us)
            yield self.server.round_trip_s
            self.pinged.add(self.server.engine.now_s - sent_s)
            yield PING_S

    def creates(self) -> Process:
        """A thread that makes files, one after the other: open with create, and close."""
        about, now = self.server.about, self.server.engine
        while True:
            began_s = now.now_s
            yield from self._change(about.create_us, self.changed)
            yield from self._change(about.close_us, self.closed, closes=True)
            self._finish(self.app_changed, began_s)

    def unlinks(self) -> Process:
        """A thread that removes files."""
        about, now = self.server.about, self.server.engine
        while True:
            began_s = now.now_s
            yield from self._change(about.unlink_us, self.changed)
            self._finish(self.app_changed, began_s)

    def stats(self) -> Process:
        """A thread that asks for the attributes of files whose locks it does not hold."""
        now = self.server.engine
        while True:
            began_s = now.now_s
            yield from self._look(self.server.about.client_us)
            yield from self._glimpse(self.server.about.client_us)
            self._finish(self.app_looked, began_s)

    def lists(self, files: int) -> Process:
        """A process that lists a directory with all attributes, over and over, with nothing left in its caches."""
        now = self.server.engine
        while True:
            began_s = now.now_s
            for _ in range(-(-files // NAMES_PER_PAGE)):
                yield from self._look(self.server.about.client_us, self.server.about.readdir_us)
            left, window = files, FIRST_AHEAD
            while left:
                most = self.setting["statahead"]
                if most < 1:
                    yield from self._look(self.server.about.client_us)
                    yield from self._glimpse(self.server.about.client_us)
                    batch = 1
                else:
                    batch = min(window, most, left)
                    window = min(2 * window, max(most, FIRST_AHEAD))
                    yield from self._ahead(batch)
                left -= batch
                for _ in range(batch):
                    self._finish(self.app_looked, began_s)
                    began_s = now.now_s

    def thread(self, what: str, files: int) -> Process:
        """One thread that does what a workload says."""
        makers = {"create": self.creates, "unlink": self.unlinks, "stat": self.stats}
        return makers[what]() if what in makers else self.lists(files)

    def _finish(self, kind: Done, began_s: float) -> None:
        took_s = self.server.engine.now_s - began_s
        kind.add(took_s)
        self.operations.add(took_s)

    def _ahead(self, entries: int) -> Process:
        """Ask for entries all at once, and wait until all are there.

        Statahead sends until its window is full, and wakes when what it asked for was used up. So windows follow each
        other instead of sliding; recorded rates at 2, 32, 128 and 512 entries say the same.
        """
        about, engine = self.server.about, self.server.engine
        left = entries
        done: list[Resume] = []

        def fetch() -> Process:
            nonlocal left
            yield from self._look(about.ahead_us, handling_us=about.ahead_reply_us)
            yield from self._glimpse(about.ahead_us)
            left -= 1
            if not left and done:
                engine.after(0.0, done[0])

        for _ in range(entries):
            engine.start(fetch())

        def ready(resume: Resume) -> None:
            if left:
                done.append(resume)
            else:
                engine.after(0.0, resume)

        yield ready

    def _look(self, client_us: float, service_us: float = 0.0, handling_us: float = 0.0) -> Process:
        yield self.slots.take()
        sent_s = self.server.engine.now_s
        yield from self._travel(client_us, service_us or self.server.about.lookup_us, self.server.threads)
        if handling_us:
            yield handling_us * 1e-6
        self.slots.give()
        self.looked.add(self.server.engine.now_s - sent_s)

    def _change(self, service_us: float, kind: Done, *, closes: bool = False) -> Process:
        yield self.mod_slots.take(closes=closes)
        sent_s = self.server.engine.now_s
        yield from self._travel(self.server.about.client_us, service_us, self.server.threads)
        self.mod_slots.give(closes=closes)
        kind.add(self.server.engine.now_s - sent_s)

    def _glimpse(self, client_us: float) -> Process:
        yield from self._travel(client_us, self.server.about.glimpse_us, self.server.targets)

    def _travel(self, client_us: float, service_us: float, pool: Processor) -> Process:
        half_s = self.server.round_trip_s / 2
        yield self.server.work(self.processor, client_us)
        yield half_s
        yield self.server.work(pool, service_us)
        yield half_s
