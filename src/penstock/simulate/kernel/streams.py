"""Application threads: one call after the other, each copying pages and waiting where it must.

A thread runs ahead of the calendar until its own time reaches the next event, so that calls which touch only
memory cost no events.
"""

from __future__ import annotations

from penstock.simulate.kernel.calendar import STREAM_RUNS, next_time, schedule
from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.cores import in_turn
from penstock.simulate.kernel.counters import tally_call
from penstock.simulate.kernel.foresight import foresee_call
from penstock.simulate.kernel.locks import hold_lock, leave_lock
from penstock.simulate.kernel.pages import run_in_state
from penstock.simulate.kernel.readahead import note_read, read_ahead, wants_refill
from penstock.simulate.kernel.records import NONE, READ, ROOMY, WRITE, World
from penstock.simulate.kernel.rng import integer, uniform
from penstock.simulate.kernel.scripted import flush, next_call
from penstock.simulate.kernel.states import ABSENT, RUNNING, STOPPED, UPTODATE, WAITS_FOR_LOCK, WAITS_FOR_READ
from penstock.simulate.kernel.syncing import between_calls
from penstock.simulate.kernel.writing import end_write, write_on

# Pages copied before the thread looks at the clock again.
COPY_PAGES = 256


@kernel
def _next_offset(w: World, s: int, direction: int, pages: int) -> int:
    stream = w.stream
    blocks = w.file.pages[stream.file[s]] // pages
    if stream.sequential[s] == 0:
        return integer(w, stream.rng[s], blocks) * pages
    position = stream.position_read[s] if direction == READ else stream.position_write[s]
    following = (position + 1) % blocks
    if direction == READ:
        stream.position_read[s] = following
    else:
        stream.position_write[s] = following
    return position * pages


@kernel
def _locked(w: World, s: int, t_us: float) -> bool:
    """Whether the call may touch its pages; if not, the thread sleeps until a lock comes."""
    if w.file.shared[w.stream.file[s]] == 0 or hold_lock(w, s, t_us):
        return True
    w.stream.mode[s] = WAITS_FOR_LOCK
    w.stream.call_us[s] = t_us
    return False


@kernel
def _enter_call(w: World, s: int, t_us: float) -> float:
    """The call for `request` pages at `begin` enters the kernel."""
    stream = w.stream
    c = stream.client[s]
    w.client.cached_max[c] = stream.cache_pages[s]
    begin, pages = stream.begin[s], stream.request[s]
    stream.cursor[s] = begin
    stream.end[s] = begin + pages
    stream.busy[s] = 1
    if stream.direction[s] == WRITE:
        t_us += w.client.write_call_us[c]
        _locked(w, s, t_us)
        return t_us
    note_read(w, s, begin, pages)
    t_us += w.client.read_call_us[c]
    if not _locked(w, s, t_us):
        return t_us
    if wants_refill(w, s):
        t_us = read_ahead(w, s, t_us)
    return t_us


@kernel
def _spend(w: World, s: int, from_us: float, until_us: float) -> float:
    """The thread was at work from one time to another; on a processor that is modelled it still has to be."""
    if w.client.cores[w.stream.client[s]] == 0:
        return until_us
    if until_us > from_us and w.stream.at_work[s] == 0:
        w.stream.at_work[s] = 1
        w.client.working[w.stream.client[s]] += 1
    w.stream.owed_us[s] += until_us - from_us
    return from_us


@kernel
def _rest(w: World, s: int) -> None:
    """The thread sleeps now: others no longer share their processor with it.

    Until then it counts, also between two time slices: it is ready to run, and the operating system's scheduler
    divides a core among all threads that are.
    """
    c = w.stream.client[s]
    if w.client.cores[c] > 0 and w.stream.at_work[s] == 1:
        w.stream.at_work[s] = 0
        w.client.working[c] -= 1


@kernel
def _work(w: World, s: int, t_us: float) -> float:
    """One time slice of the work that a thread still owes its processor."""
    c = w.stream.client[s]
    slice_us = min(w.stream.owed_us[s], w.client.slice_us[c])
    done_us = in_turn(w, c, slice_us, t_us)
    w.stream.owed_us[s] -= slice_us
    return done_us


@kernel
def _begin_call(w: World, s: int, t_us: float) -> float:
    stream = w.stream
    if stream.between[s] != 0:
        ready_us = between_calls(w, s, t_us)
        if stream.mode[s] != RUNNING or ready_us > t_us:
            return ready_us
    if stream.stop_us[s] > 0.0 and t_us >= stream.stop_us[s]:
        if stream.flushes[s] == 1 and not flush(w, s, t_us, True):
            return t_us
        stream.mode[s] = STOPPED
        stream.call_us[s] = t_us
        w.client.closes[stream.client[s]] += 1
        return t_us
    if stream.active_us[s] > 0.0 and t_us >= stream.phase_us[s] + stream.active_us[s]:
        t_us += stream.idle_us[s]
        stream.phase_us[s] = t_us
        return t_us
    if stream.op_end[s] > 0:
        t_us = next_call(w, s, t_us)
        return t_us if stream.busy[s] == 0 else _spend(w, s, t_us, _enter_call(w, s, t_us))
    direction = READ
    if stream.read_ratio[s] < 1.0 and (
        stream.read_ratio[s] <= 0.0 or uniform(w, stream.rng[s]) >= stream.read_ratio[s]
    ):
        direction = WRITE
    stream.direction[s] = direction
    stream.begin[s] = _next_offset(w, s, direction, stream.request[s])
    return _spend(w, s, t_us, _enter_call(w, s, t_us))


@kernel
def _end_call(w: World, s: int, t_us: float) -> float:
    stream = w.stream
    if stream.direction[s] == WRITE and not end_write(w, s, t_us):
        return t_us
    leave_lock(w, s, t_us)
    tally_call(w, s)
    stream.busy[s] = 0
    stream.wait_page[s] = NONE
    if stream.think_us[s] > 0.0:
        _rest(w, s)
    return t_us + stream.think_us[s]


@kernel
def _read_on(w: World, s: int, t_us: float) -> float:
    stream = w.stream
    f = stream.file[s]
    cursor = stream.cursor[s]
    most = min(COPY_PAGES, w.client.stride[stream.client[s]])
    run = run_in_state(w, f, cursor, min(stream.end[s], cursor + most), UPTODATE)
    if run > 0:
        stream.cursor[s] = cursor + run
        return t_us + run * w.client.read_copy_us_page[stream.client[s]]
    if w.page_state[w.file.state_base[f] + cursor] == ABSENT:
        t_us = read_ahead(w, s, t_us)
    stream.wait_page[s] = cursor
    stream.mode[s] = WAITS_FOR_READ
    # The reader may still be busy asking when its page arrives.
    stream.call_us[s] = t_us
    return t_us


@kernel
def run_stream(w: World, s: int, now_us: float) -> None:
    """Let a thread go on until it blocks, sleeps, or catches up with the calendar."""
    stream = w.stream
    t_us = now_us
    if stream.owed_us[s] <= 0.0:
        stream.mode[s] = RUNNING
    f = stream.file[s]
    w.file.lock[f] = stream.lock[s]
    w.file.filling[f] = stream.active_ext[s]
    while True:
        if stream.owed_us[s] > 0.0:
            t_us = _work(w, s, t_us)
        elif stream.busy[s] == 0:
            t_us = _begin_call(w, s, t_us)
            if stream.busy[s] == 0:
                _rest(w, s)
            if stream.mode[s] == STOPPED:
                return
        elif stream.cursor[s] < stream.end[s]:
            read = stream.direction[s] == READ
            t_us = _spend(w, s, t_us, _read_on(w, s, t_us) if read else write_on(w, s, t_us))
        else:
            t_us = _end_call(w, s, t_us)
        if (stream.mode[s] != RUNNING and stream.owed_us[s] <= 0.0) or w.sim.full[0] != ROOMY:
            _rest(w, s)
            return
        if t_us >= next_time(w) or t_us >= w.sim.until_us[0]:
            schedule(w, t_us, STREAM_RUNS, s)
            return


@kernel
def wake(w: World, s: int, now_us: float) -> None:
    """What a thread waited for has come: it runs again after the time a wake-up takes."""
    w.stream.mode[s] = RUNNING
    if w.stream.owed_us[s] > 0.0:
        # It is still at work and goes on by itself.
        return
    foresee_call(w, s)
    ready_us = max(now_us, w.stream.call_us[s])
    schedule(w, ready_us + w.client.wake_us[w.stream.client[s]], STREAM_RUNS, s)
