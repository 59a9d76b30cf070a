"""Scripted streams: threads that follow a list of instructions, many files, pauses and meeting points included.

An instruction is a run of equal requests (so many calls of so many pages, a fixed or random distance apart), a
flush of a file, or a step at a gate where threads wait for each other. The script is data; applications and
recorded requests are turned into scripts by `penstock.simulate.script`.
"""

from __future__ import annotations

from penstock.simulate.kernel.calendar import STREAM_RUNS, schedule
from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.counters import tally_fsync
from penstock.simulate.kernel.flusher import make_urgent
from penstock.simulate.kernel.records import PAGE, READ, WRITE, World
from penstock.simulate.kernel.rng import integer
from penstock.simulate.kernel.states import (
    DATA_LEAVES,
    NO_FSYNC,
    RUNNING,
    STOPPED,
    WAITS_AT_GATE,
    WAITS_FOR_FLUSH,
)

# What an instruction does. Reads and writes are numbered as directions are.
SYNC, MEET, PUT, TAKE, REST = 2, 3, 4, 5, 6
# An instruction's distance between requests, when each falls anywhere.
ANYWHERE = -1
# The `pages` of a SYNC instruction that is for the last object of a file.
LAST_OBJECT = 1


@kernel
def _leave_file(w: World, s: int) -> None:
    stream = w.stream
    f = stream.file[s]
    if w.file.first_stream[f] == s:
        w.file.first_stream[f] = stream.next_in_file[s]
        return
    other = w.file.first_stream[f]
    while stream.next_in_file[other] != s:
        other = stream.next_in_file[other]
    stream.next_in_file[other] = stream.next_in_file[s]


@kernel
def _use(w: World, s: int, h: int, again: bool) -> None:
    """Go on with another open file, which remembers where its readahead stood; or with one just opened."""
    stream, handle = w.stream, w.handle
    old = stream.handle[s]
    if old == h and again:
        return
    if not again:
        w.client.opens[stream.client[s]] += 1
        w.client.closes[stream.client[s]] += 1
    handle.ra_start[old] = stream.ra_start[s]
    handle.ra_next[old] = stream.ra_next[s]
    handle.ra_window[old] = stream.ra_window[s]
    handle.ra_end_of_last[old] = stream.ra_end_of_last[s]
    handle.reads_done[old] = stream.reads_done[s]
    stream.handle[s] = h
    stream.ra_start[s] = handle.ra_start[h] if again else 0
    stream.ra_next[s] = handle.ra_next[h] if again else 0
    stream.ra_window[s] = handle.ra_window[h] if again else 0
    stream.ra_end_of_last[s] = handle.ra_end_of_last[h] if again else 0
    stream.reads_done[s] = handle.reads_done[h] if again else 0
    f = handle.file[h]
    if stream.file[s] != f:
        _leave_file(w, s)
        stream.file[s] = f
        stream.next_in_file[s] = w.file.first_stream[f]
        w.file.first_stream[f] = s
        w.file.lock[f] = stream.lock[s]
        w.file.filling[f] = stream.active_ext[s]


@kernel
def _request(w: World, s: int, i: int) -> None:
    """The next of an instruction's requests becomes the stream's call."""
    stream, op = w.stream, w.op
    h = op.handle[i]
    if op.fan[i] > 1:
        h += integer(w, stream.rng[s], op.fan[i])
    _use(w, s, h, op.fan[i] == 1)
    whole = w.file.pages[stream.file[s]]
    pages = whole if op.pages[i] == 0 else op.pages[i]
    if op.stride[i] == ANYWHERE:
        stream.begin[s] = integer(w, stream.rng[s], whole // pages) * pages
    else:
        stream.begin[s] = op.page[i] + stream.op_done[s] * op.stride[i]
    stream.direction[s] = READ if op.kind[i] == READ else WRITE
    stream.request[s] = pages
    stream.call_bytes[s] = int(pages) * PAGE if op.bytes[i] == 0 else op.bytes[i]
    stream.busy[s] = 1


@kernel
def _sleep(w: World, s: int, mode: int, t_us: float) -> None:
    w.stream.mode[s] = mode
    w.stream.call_us[s] = t_us


@kernel
def _open_gate(w: World, g: int, t_us: float) -> None:
    """Everybody who waits at the gate looks again."""
    stream = w.stream
    for s in range(w.gate.first[g], w.gate.first[g] + w.gate.streams[g]):
        if stream.mode[s] == WAITS_AT_GATE and w.op.handle[stream.op[s]] == g:
            stream.mode[s] = RUNNING
            ready_us = max(t_us, stream.call_us[s])
            schedule(w, ready_us + w.client.wake_us[stream.client[s]], STREAM_RUNS, s)


@kernel
def _meet(w: World, s: int, g: int, t_us: float) -> bool:
    """All of the gate's streams go on when the last has come."""
    stream, gate = w.stream, w.gate
    if stream.paused[s] == 2:
        if stream.turn[s] == gate.turn[g]:
            # Something else woke it, as an eviction does.
            _sleep(w, s, WAITS_AT_GATE, t_us)
            return False
        stream.paused[s] = 1
        return True
    gate.level[g] += 1
    if gate.level[g] < gate.limit[g]:
        stream.paused[s] = 2
        stream.turn[s] = gate.turn[g]
        _sleep(w, s, WAITS_AT_GATE, t_us)
        return False
    gate.level[g] = 0
    gate.turn[g] += 1
    _open_gate(w, g, t_us)
    return True


@kernel
def _exchange(w: World, s: int, g: int, change: int, t_us: float) -> bool:
    """Put something into a store of limited size, or take it out; wait while that is impossible."""
    level = w.gate.level[g] + change
    if level < 0 or level > w.gate.limit[g]:
        _sleep(w, s, WAITS_AT_GATE, t_us)
        return False
    w.gate.level[g] = level
    _open_gate(w, g, t_us)
    return True


@kernel
def flush(w: World, s: int, t_us: float, last: bool) -> bool:
    """Whether all of the stream's file is on its server; if not, the stream waits for that.

    The last of a striped file's objects ends the call of fsync.
    """
    f = w.stream.file[s]
    if w.stream.syncing[s] == NO_FSYNC:
        w.stream.syncing[s] = DATA_LEAVES
        w.stream.fsync_us[s] = t_us
    if w.file.cached_extents[f] == 0 and w.file.writing[f] == 0:
        if last:
            w.stream.syncing[s] = NO_FSYNC
            tally_fsync(w, w.stream.client[s], t_us - w.stream.fsync_us[s])
        return True
    _sleep(w, s, WAITS_FOR_FLUSH, t_us)
    make_urgent(w, f, t_us)
    return False


@kernel
def _is_done(w: World, s: int, i: int, t_us: float) -> bool:
    """Carry an instruction out, or one request of it; false if the stream has to wait for somebody first."""
    kind = w.op.kind[i]
    if kind == SYNC:
        _use(w, s, w.op.handle[i], True)
        return flush(w, s, t_us, w.op.pages[i] == LAST_OBJECT)
    if kind == MEET:
        return _meet(w, s, w.op.handle[i], t_us)
    if kind == PUT:
        return _exchange(w, s, w.op.handle[i], 1, t_us)
    if kind == TAKE:
        return _exchange(w, s, w.op.handle[i], -1, t_us)
    if kind != REST:
        _request(w, s, i)
    return True


@kernel
def next_call(w: World, s: int, t_us: float) -> float:
    """Follow the script one step: a pause, a wait, or a request, which makes the stream busy."""
    stream, op = w.stream, w.op
    if stream.op[s] == stream.op_end[s]:
        if stream.repeats[s] == 0:
            stream.mode[s] = STOPPED
            stream.call_us[s] = t_us
            w.client.closes[stream.client[s]] += 1
            return t_us
        stream.op[s] = stream.op_first[s]
    i = stream.op[s]
    if stream.paused[s] == 0:
        stream.paused[s] = 1
        later_us = max(t_us + op.think_us[i], op.at_us[i])
        if later_us > t_us:
            return later_us
    if not _is_done(w, s, i, t_us):
        return t_us
    stream.paused[s] = 0
    stream.op_done[s] += 1
    if stream.op_done[s] >= op.count[i]:
        stream.op[s] = i + 1
        stream.op_done[s] = 0
    return t_us
