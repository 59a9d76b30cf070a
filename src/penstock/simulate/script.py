"""What scripted threads do, as data: files, tasks and the gates where tasks meet.

An application or a recorded request stream becomes a `Script`; assembly turns it into arrays. Offsets and sizes
are bytes here; the simulator works in whole pages, so a request costs every page it touches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.simulate.kernel.client_records import OP
from penstock.simulate.kernel.records import PAGE, READ, WRITE
from penstock.simulate.kernel.scripted import ANYWHERE, LAST_OBJECT, MEET, PUT, REST, SYNC, TAKE
from penstock.units import GIB, MIB

Ops = np.ndarray[Any, Any]
NOT_BEFORE = -1.0


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """A file of so many bytes, in stripes over the named OSTs (numbers beyond the last begin again at 0)."""

    size_bytes: int
    osts: tuple[int, ...] = (0,)
    stripe_bytes: int = MIB

    @property
    def object_bytes(self) -> int:
        """How much lies on each of its OSTs at most."""
        if len(self.osts) == 1:
            return self.size_bytes
        stripes = -(-self.size_bytes // self.stripe_bytes)
        return -(-stripes // len(self.osts)) * self.stripe_bytes

    def pieces(self, offset: int, size: int) -> Iterator[tuple[int, int, int]]:
        """A byte range as (object, offset within it, bytes), stripe by stripe, as a client goes through it."""
        if len(self.osts) == 1:
            yield 0, offset, size
            return
        while size > 0:
            stripe, inside = divmod(offset, self.stripe_bytes)
            part = min(size, self.stripe_bytes - inside)
            row, which = divmod(stripe, len(self.osts))
            yield which, row * self.stripe_bytes + inside, part
            offset, size = offset + part, size - part


@dataclass(frozen=True, slots=True)
class ScriptGate:
    """Where consecutive tasks meet: all `tasks` of them at once, or a store that holds up to `limit` pieces."""

    first: int
    tasks: int
    limit: int


@dataclass(frozen=True, slots=True)
class Task:
    """One thread on one client. `ops` is an array of instructions; a task that repeats starts over at its end.

    One that `flushes` waits, when its time to stop has come, until the file it wrote last is on its server.
    """

    client: int
    ops: Ops
    repeats: bool = True
    start_s: float = 0.0
    stop_s: float = 0.0
    flushes: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """Everything the threads of one application do. `cache_bytes` is the page cache each client runs with."""

    name: str
    files: tuple[ScriptFile, ...]
    tasks: tuple[Task, ...]
    gates: tuple[ScriptGate, ...] = ()
    cache_bytes: int = GIB

    @property
    def objects(self) -> tuple[tuple[int, int], ...]:
        """(OST, bytes) of every object, file by file; instructions name objects by their place here."""
        return tuple((ost, file.object_bytes) for file in self.files for ost in file.osts)

    @property
    def read_ratio(self) -> float:
        """The share of its requested bytes that are reads."""
        moved = [0, 0]
        for task in self.tasks:
            for way in (READ, WRITE):
                ops = task.ops[task.ops["kind"] == way]
                size = np.where(ops["bytes"] > 0, ops["bytes"], ops["pages"] * PAGE)
                moved[way] += int((size * ops["count"]).sum())
        return moved[READ] / sum(moved) if sum(moved) else 1.0


class Steps:
    """The instructions of one task, written down one after the other."""

    def __init__(self, files: Sequence[ScriptFile]) -> None:
        self._files = files
        self._first = np.concatenate([[0], np.cumsum([len(file.osts) for file in files])]).astype(int)
        self._ops: list[tuple[float, float, int, int, int, int, int, int, int, int]] = []
        self._before: list[Ops] = []

    @property
    def ops(self) -> Ops:
        """What was written so far."""
        return np.concatenate([*self._before, np.array(self._ops, dtype=OP)])

    def again(self, times: int) -> None:
        """Write down all that was written so far so many times in all."""
        self._before, self._ops = [np.tile(self.ops, times)], []

    def feed(self, file: int, size: int, calls: int, gate: int) -> None:
        """Read a one-stripe file from its start, `calls` calls of whole pages at a time for each piece put."""
        pages = size // PAGE
        pieces = -(-self._files[file].size_bytes // (size * calls))
        ops = np.zeros(2 * pieces, dtype=OP)
        ops["at_us"], ops["fan"], ops["count"] = NOT_BEFORE, 1, 1
        ops["kind"][0::2], ops["kind"][1::2] = READ, PUT
        ops["handle"][0::2], ops["handle"][1::2] = self._object(file), gate
        ops["page"][0::2] = np.arange(pieces) * calls * pages
        ops["pages"][0::2], ops["stride"][0::2], ops["bytes"][0::2] = pages, pages, size
        ops["count"][0::2] = calls
        whole = self._files[file].size_bytes // size
        ops["count"][-2] = whole - (pieces - 1) * calls
        self._before += [np.array(self._ops, dtype=OP), ops]
        self._ops = []

    def read(self, file: int, offset: int, size: int, *, count: int = 1, think_s: float = 0.0) -> None:
        """Calls of `size` bytes one behind the other, each after a pause."""
        self._transfer(READ, (file, offset, size), count, think_s)

    def write(self, file: int, offset: int, size: int, *, count: int = 1, think_s: float = 0.0) -> None:
        """The same, writing."""
        self._transfer(WRITE, (file, offset, size), count, think_s)

    def read_anywhere(self, file: int, size: int, *, count: int = 1, think_s: float = 0.0) -> None:
        """Calls at random places of a file, on any of its stripes."""
        fan, pages = len(self._files[file].osts), -(-size // PAGE)
        self._add(READ, self._object(file), (fan, 0, pages, size, count, ANYWHERE), think_s)

    def read_any_whole(self, first: int, files: int, *, count: int = 1, think_s: float = 0.0) -> None:
        """Open one of several one-stripe files at random, read it in one call, `count` times."""
        self._add(READ, self._object(first), (files, 0, 0, 0, count, 0), think_s)

    def sync(self, file: int) -> None:
        """Wait until all that was written to a file is on its servers."""
        stripes = len(self._files[file].osts)
        for stripe in range(stripes):
            last = LAST_OBJECT if stripe == stripes - 1 else 0
            self._add(SYNC, self._object(file) + stripe, (1, 0, last, 0, 1, 0))

    def meet(self, gate: int) -> None:
        """Wait for the others."""
        self._add(MEET, gate)

    def put(self, gate: int) -> None:
        """Put one piece into a store; wait while it is full."""
        self._add(PUT, gate)

    def take(self, gate: int) -> None:
        """Take one piece out of a store; wait while it is empty."""
        self._add(TAKE, gate)

    def rest(self, seconds: float) -> None:
        """Compute, or sleep."""
        self._add(REST, 0, think_s=seconds)

    def _object(self, file: int) -> int:
        return int(self._first[file])

    def _transfer(self, kind: int, where: tuple[int, int, int], count: int, think_s: float) -> None:
        file, offset, size = where
        base = self._object(file)
        if len(self._files[file].osts) == 1 and (count == 1 or (offset % PAGE == 0 and size % PAGE == 0)):
            self._add(kind, base, (1, *_pages(offset, size), size, count, size // PAGE), think_s)
            return
        for number in range(count):
            pause_s = think_s
            for which, start, part in self._files[file].pieces(offset + number * size, size):
                self._add(kind, base + which, (1, *_pages(start, part), part, 1, 0), pause_s)
                pause_s = 0.0

    def _add(
        self,
        kind: int,
        handle: int,
        shape: tuple[int, int, int, int, int, int] = (1, 0, 0, 0, 1, 0),
        think_s: float = 0.0,
    ) -> None:
        self._ops.append((NOT_BEFORE, think_s * 1e6, kind, handle, *shape))


def repeated(ops: Ops, objects: int, times: int) -> Ops:
    """The same instructions so many times, each time on the following `objects` objects."""
    copies = np.tile(ops, times)
    moved = np.repeat(np.arange(times) * objects, len(ops))
    on_file = (copies["kind"] == READ) | (copies["kind"] == WRITE) | (copies["kind"] == SYNC)
    copies["handle"] += np.where(on_file, moved, 0)
    return copies


def with_an_end(script: Script, rounds: float) -> Script:
    """The script as fixed work: every task goes through its instructions so many times and then waits until what it
    wrote is on the servers.

    Tasks that meet stop after whole steps, at least one; others after whole rounds. Tasks that only feed others go on
    as long as anybody takes.
    """
    tasks = tuple(task if (task.ops["kind"] == PUT).any() else _ending(task, rounds) for task in script.tasks)
    return replace(script, tasks=tasks)


def _ending(task: Task, rounds: float) -> Task:
    meetings = np.flatnonzero(task.ops["kind"] == MEET)
    if len(meetings):
        whole, rest = divmod(max(1, round(rounds * len(meetings))), len(meetings))
        part = task.ops[: meetings[rest - 1] + 1] if rest else task.ops[:0]
    else:
        whole, part = max(1, round(rounds)), task.ops[:0]
    ops = np.concatenate([np.tile(task.ops, whole), part])
    written = np.unique(ops["handle"][ops["kind"] == WRITE])
    syncs = np.zeros(len(written), dtype=OP)
    syncs["at_us"], syncs["kind"], syncs["handle"], syncs["fan"], syncs["count"] = (
        NOT_BEFORE,
        SYNC,
        written,
        1,
        1,
    )
    return replace(task, ops=np.concatenate([ops, syncs]), repeats=False)


def _pages(offset: int, size: int) -> tuple[int, int]:
    first = offset // PAGE
    return first, max(1, -(-(offset + size) // PAGE) - first)
