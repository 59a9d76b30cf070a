"""A client that reads: its threads, their open files, what they ask for themselves and what is read ahead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from penstock.knobs import Setting
from penstock.simulate.cluster import Cluster
from penstock.simulate.metadata.virtual_time import Process, Processor, Timeline
from penstock.simulate.reading.access_pattern import AccessKind
from penstock.simulate.reading.ahead_budget import AheadBudget
from penstock.simulate.reading.ahead_window import AheadLimits, AheadWindow
from penstock.simulate.reading.read_path import BLOCK_BYTES, BLOCK_PAGES, Link, ReadPath, ReadRequest
from penstock.simulate.reading.reading_workloads import Call, ReadingWorkload, calls_of
from penstock.spaces import lustre, readahead
from penstock.units import MIB

_MIB_BLOCKS = MIB // BLOCK_BYTES


@dataclass(slots=True)
class Reads:
    """What applications read, and what became of readahead. `misses` are blocks that were waited for unasked."""

    bytes: int = 0
    calls: int = 0
    usec: float = 0.0
    least_usec: float = math.inf
    most_usec: float = 0.0
    #: The sum of the squares.
    usec_squares: float = 0.0
    misses: int = 0
    by_itself: int = 0

    def add(self, usec: float) -> None:
        """A call has returned."""
        self.calls += 1
        self.usec += usec
        self.least_usec = min(self.least_usec, usec)
        self.most_usec = max(self.most_usec, usec)
        self.usec_squares += usec * usec


@dataclass(slots=True, eq=False)
class OpenFile:
    """A file as one reader has it open. `asked` has the blocks that were asked for and not read yet.

    What was read is not kept: files are larger than the cache.
    """

    window: AheadWindow
    asked: dict[int, ReadRequest] = field(default_factory=dict)


@dataclass(slots=True)
class ReadingClient:
    """One client of a cluster whose threads do a workload. All of it goes to one OST."""

    cluster: Cluster
    work: ReadingWorkload
    seed: int = 1
    setting: Setting = field(default_factory=Setting)
    engine: Timeline = field(default_factory=Timeline)
    reads: Reads = field(default_factory=Reads)
    path: ReadPath = field(init=False)
    budget: AheadBudget = field(init=False)
    processor: Processor = field(init=False)

    def __post_init__(self) -> None:
        ram_bytes = round(self.cluster.client.ram_gb * 1e9)
        start = lustre(ram_bytes).default.replace(readahead(ram_bytes).default)
        self.setting = start.replace(self.setting)
        self.processor = Processor(self.engine, self.cluster.client.cores or 64)
        self.budget = AheadBudget(0)
        network = self.cluster.network
        rate = min(network.client_mb_per_s, network.server_mb_per_s) * 1e6
        behind_mib = self.cluster.readahead.reply_behind_mib or network.ahead_mib
        link = Link(self.engine, rate, network.round_trip_us * 0.5e-6, behind_mib * MIB)
        rng = Random(f"reading/{self.seed}/server")
        self.path = ReadPath(self.engine, self.cluster, self.processor, link, self.setting["flight"], rng)
        self.set(self.setting)
        for thread in range(self.work.threads):
            self.engine.start(self._thread(Random(f"reading/{self.seed}/{thread}")))

    def set(self, setting: Setting) -> None:
        """Other limits, at once."""
        self.setting = setting
        self.budget.most = setting["ahead_total"] * _MIB_BLOCKS
        self.path.slots.set(setting["flight"] + 1)

    @property
    def limits(self) -> AheadLimits:
        """What is in force."""
        blocks = {knob_id: value * _MIB_BLOCKS for knob_id, value in self.setting.items()}
        refill = round(self.cluster.client.read_ahead_refill_mib * _MIB_BLOCKS)
        rpc = max(1, self.setting["pages"] // BLOCK_PAGES)
        return AheadLimits(rpc, blocks["ahead_file"], blocks["ahead_whole"], blocks["ahead_async"], refill)

    @property
    def carried_bytes(self) -> int:
        """What came over the wire."""
        return self.path.traffic.bytes

    def _thread(self, rng: Random) -> Process:
        files: dict[int, OpenFile] = {}
        for call in calls_of(self.work, rng):
            if call.opens:
                files[call.file] = OpenFile(AheadWindow(self.work.file_blocks))
            yield from self._read(files[call.file], call)
            if self.work.think_us:
                yield self.processor.work(self.work.think_us * 1e-6)

    def _read(self, file: OpenFile, call: Call) -> Process:
        client, began_s = self.cluster.client, self.engine.now_s
        yield self.processor.work(client.read_call_us * 1e-6)
        limits = self.limits
        file.window.note(call.first, call.blocks, limits)
        cursor, end, asks_itself = call.first, call.first + call.blocks, False
        while cursor < end:
            request = file.asked.get(cursor)
            if request is None:
                asks_itself = True
                yield from self._ask(file, range(cursor, end), limits)
                continue
            if not asks_itself and file.window.has_room(limits):
                asks_itself = not self._starts_refill(file, limits)
                if asks_itself:
                    yield from self._ask(file, (), limits)
            if not request.is_done:
                yield request.arrived
            run = cursor
            while run < end and file.asked.get(run) is request:
                del file.asked[run]
                run += 1
            yield self._work(run - cursor, client.read_copy_us_per_page)
            self.reads.bytes += (run - cursor) * BLOCK_BYTES
            cursor = run
        self.reads.add((self.engine.now_s - began_s) * 1e6)

    def _starts_refill(self, file: OpenFile, limits: AheadLimits) -> bool:
        """Let another thread ask for the next batch, if it does so for this window and all of it has room."""
        batch = max(limits.refill, limits.rpc)
        if not file.window.refills_itself(limits) or self.budget.used + batch > self.budget.most:
            return False
        self.reads.by_itself += 1
        blocks = file.window.wanted(limits, batch)
        self.budget.take(len(blocks))
        self._claim(file, blocks)
        self.engine.start(self._send(file, (), blocks))
        return True

    def _ask(self, file: OpenFile, own: Sequence[int], limits: AheadLimits) -> Process:
        """Ask for the call's own blocks that are missing, and for what the window allows."""
        window = file.window
        mine = [block for block in own if block not in file.asked]
        self.reads.misses += bool(mine) and window.access is not AccessKind.OTHER
        if mine:
            window.next = max(window.next, mine[0])
        taken = set(mine)
        wanted = [
            block
            for block in window.wanted(limits, window.size)
            if block not in taken and block not in file.asked
        ]
        ahead = wanted[: self.budget.take(len(wanted))]
        self._claim(file, ahead)
        if mine:
            window.next = max(window.next, mine[-1] + 1)
        yield from self._send(file, mine, ahead)

    def _claim(self, file: OpenFile, blocks: Sequence[int]) -> None:
        """These are asked for now: nobody else asks for them again."""
        if blocks:
            file.window.next = max(file.window.next, blocks[-1] + 1)

    def _send(self, file: OpenFile, own: Sequence[int], ahead: Sequence[int]) -> Process:
        """Prepare the pages of all requests, then send them. Whoever prepares them spends the time."""
        client, early = self.cluster.client, set(ahead)
        found: list[tuple[ReadRequest, bool]] = []
        for blocks in _requests(sorted((*own, *ahead)), max(1, self.setting["pages"] // BLOCK_PAGES)):
            request = ReadRequest(len(blocks), len(early.intersection(blocks)))
            found.append((request, blocks[0] % max(1, self.setting["pages"] // BLOCK_PAGES) == 0))
            file.asked.update(dict.fromkeys(blocks, request))
            yield self._work(len(blocks), client.read_submit_us_per_page)
        for request, near in found:
            self.engine.start(self._carry(request, near))

    def _work(self, blocks: int, us_per_page: float) -> float:
        """How long the client works on so many blocks."""
        pages = blocks * BLOCK_PAGES * self.cluster.readahead.page_cost_ratio
        return self.processor.work(pages * us_per_page * 1e-6)

    def _carry(self, request: ReadRequest, near: bool) -> Process:
        def finished() -> None:
            request.is_done = True
            self.budget.give(request.ahead)
            for resume in request.waiting:
                self.engine.after(self.cluster.client.wake_us * 1e-6, resume)

        yield from self.path.carry(request, near, finished)


def _requests(blocks: Sequence[int], rpc: int) -> list[list[int]]:
    """Blocks in requests: at most `rpc` in one; what is contiguous is cut at multiples of `rpc`."""
    found: list[list[int]] = []
    for block in blocks:
        last = found[-1] if found else None
        fits = last is not None and len(last) < rpc
        if last is not None and fits and not (block == last[-1] + 1 and block % rpc == 0):
            last.append(block)
        else:
            found.append([block])
    return found
