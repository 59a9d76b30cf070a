"""Turns scripts into the arrays of a world: which files each client sees, who has what open, what is to be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.simulate.kernel.records import NONE, PAGE, READ, WRITE, World
from penstock.simulate.kernel.scripted import SYNC
from penstock.simulate.kernel.syncing import OPENS
from penstock.simulate.placement import FileWish, Placement
from penstock.simulate.script import Ops, Script, Task

SECOND_US = 1e6


@dataclass(frozen=True, slots=True)
class Placed:
    """A task, the wishes behind the objects it uses (object -> number of the wish), and its script's first gate."""

    task: Task
    wishes: dict[int, int]
    first_gate: int
    cache_pages: int


@dataclass(frozen=True, slots=True)
class ScriptLayout:
    """All scripts of a plan. A wish is one object as one client sees it."""

    wishes: tuple[FileWish, ...]
    placed: tuple[Placed, ...]
    scripts: tuple[Script, ...]

    @property
    def streams(self) -> int:
        return len(self.placed)

    @property
    def ops(self) -> int:
        return sum(len(one.task.ops) for one in self.placed)

    @property
    def handles(self) -> int:
        """How many open files."""
        return sum(len(one.wishes) for one in self.placed)

    @property
    def gates(self) -> int:
        """How many places to meet."""
        return sum(len(script.gates) for script in self.scripts)

    @property
    def largest_pages(self) -> int:
        """The largest request."""
        largest = 0
        for one in self.placed:
            ops = one.task.ops[_transfers(one.task.ops)]
            largest = max(largest, int(ops["pages"].max(initial=0)))
            if (ops["pages"] == 0).any():
                largest = max(largest, *(-(-self.wishes[n].file_bytes // PAGE) for n in one.wishes.values()))
        return largest

    def files_before(self, placement: Placement) -> int:
        """How many files belong to other workloads; they come first."""
        others = placement.of_stream[: len(placement.of_stream) - len(self.wishes)]
        return max(others, default=-1) + 1


def lay_out(scripts: Sequence[Script], osts: int) -> ScriptLayout:
    """Give every object that a client uses a file of its own in that client's world."""
    wishes: list[FileWish] = []
    placed: list[Placed] = []
    gates = 0
    for number, script in enumerate(scripts):
        objects = script.objects
        named = [_objects(task.ops) for task in script.tasks]
        written = {o for task in script.tasks for o in _objects(task.ops, WRITE)}
        users: dict[int, set[int]] = {}
        for task, mine in zip(script.tasks, named, strict=True):
            for o in written.intersection(mine):
                users.setdefault(o, set()).add(task.client)
        known: dict[tuple[int, int], int] = {}
        for task, mine in zip(script.tasks, named, strict=True):
            for o in mine:
                if (task.client, o) not in known:
                    known[task.client, o] = len(wishes)
                    ost, size = objects[o]
                    shared = f"{script.name}/{number}/{o}" if len(users.get(o, ())) > 1 else ""
                    wishes.append(
                        FileWish(
                            task.client, ost % osts, max(1, size), script.cache_bytes, o in written, shared
                        )
                    )
            used = {o: known[task.client, o] for o in mine}
            placed.append(Placed(task, used, gates, max(1, script.cache_bytes // PAGE)))
        gates += len(script.gates)
    return ScriptLayout(tuple(wishes), tuple(placed), tuple(scripts))


def _transfers(ops: Ops) -> Ops:
    return np.asarray((ops["kind"] == READ) | (ops["kind"] == WRITE))


def _objects(ops: Ops, kind: int | None = None) -> list[int]:
    """The objects that instructions name, in order; all of them where one of several is drawn."""
    chosen = ops[(_transfers(ops) | (ops["kind"] == SYNC)) if kind is None else ops["kind"] == kind]
    single = chosen["fan"] == 1
    found = {int(o) for o in np.unique(chosen["handle"][single])}
    for first, fan in {(int(op["handle"]), int(op["fan"])) for op in chosen[~single]}:
        found.update(range(first, first + fan))
    return sorted(found)


def fill_scripts(w: World, layout: ScriptLayout, placement: Placement) -> None:
    """Write streams, instructions, open files and gates, behind what other workloads have."""
    files = placement.of_stream[len(placement.of_stream) - len(layout.wishes) :]
    first_stream = w.stream.shape[0] - layout.streams
    op = handle = 0
    for number, one in enumerate(layout.placed):
        ops, opened = one.task.ops, sorted(one.wishes)
        there = w.op[op : op + len(ops)]
        there[:] = ops
        there["at_us"] = np.where(ops["at_us"] >= 0, ops["at_us"] + one.task.start_s * SECOND_US, -1.0)
        there["handle"] = _numbers(ops, opened, handle, one.first_gate)
        w.handle.file[handle : handle + len(opened)] = [files[one.wishes[o]] for o in opened]
        _fill_stream(w, first_stream + number, one, (op, handle))
        op, handle = op + len(ops), handle + len(opened)
    g, first_task = 0, first_stream
    for script in layout.scripts:
        for gate in script.gates:
            w.gate.first[g], w.gate.streams[g] = first_task + gate.first, gate.tasks
            w.gate.limit[g] = gate.limit
            g += 1
        first_task += len(script.tasks)


def _numbers(ops: Ops, opened: Sequence[int], first_handle: int, first_gate: int) -> Ops:
    """Objects become handles of this stream, gates gates of the whole world."""
    on_file = _transfers(ops) | (ops["kind"] == SYNC)
    handles = first_handle + np.searchsorted(np.asarray(opened, dtype=np.int64), ops["handle"])
    return np.asarray(np.where(on_file, handles, ops["handle"] + first_gate))


def _fill_stream(w: World, s: int, one: Placed, bases: tuple[int, int]) -> None:
    stream = w.stream
    op, handle = bases
    stream.client[s], stream.rng[s], stream.handle[s] = one.task.client, s, handle
    stream.op[s] = stream.op_first[s] = op
    stream.op_end[s] = op + len(one.task.ops)
    stream.repeats[s] = int(one.task.repeats)
    stream.between[s] = OPENS
    stream.flushes[s] = int(one.task.flushes)
    stream.start_us[s], stream.stop_us[s] = one.task.start_s * SECOND_US, one.task.stop_s * SECOND_US
    stream.phase_us[s] = stream.start_us[s]
    stream.cache_pages[s] = one.cache_pages
    stream.wait_page[s] = stream.active_ext[s] = stream.lock[s] = stream.next_wanted[s] = NONE
    if not one.wishes:
        # A thread without files only waits and computes; it is in no file's list.
        return
    f = stream.file[s] = w.handle.file[handle]
    stream.next_in_file[s] = w.file.first_stream[f]
    w.file.first_stream[f] = s
