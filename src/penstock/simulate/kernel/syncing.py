"""What programs do between their calls: fsync after so many bytes, or close the file and open it again.

An fsync sends everything of the file that is dirty on its client and waits until that, and what was under way
already, is stored. Then it has the metadata server and the OST commit their journals (ll_fsync: MDS_SYNC, then
OST_SYNC). Pages that other threads make dirty meanwhile are not waited for.

A close tells the metadata server and sends no data: dirty pages stay dirty (ll_flush only reports errors). The next
open is one request more, and readahead begins anew.
"""

from __future__ import annotations

from penstock.simulate.kernel.calendar import SYNC_ANSWERED, SYNC_ARRIVES, schedule
from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.counters import tally_fsync
from penstock.simulate.kernel.extents import await_extent
from penstock.simulate.kernel.flusher import make_urgent
from penstock.simulate.kernel.locks import to_client, to_server
from penstock.simulate.kernel.offsets import next_cached
from penstock.simulate.kernel.records import NONE, WRITE, World
from penstock.simulate.kernel.server import commit_journal
from penstock.simulate.kernel.states import (
    DATA_LEAVES,
    NO_FSYNC,
    SERVERS_COMMIT,
    WAITS_FOR_COMMIT,
    WAITS_FOR_FSYNC,
)

# Flags of `stream.between`: its first call opens its file; it fsyncs or closes after so many bytes.
OPENS, ENDS = 1, 2
# An OST that does not answer is asked again.
RESEND_US = 1e6


@kernel
def _await_flying(w: World, f: int) -> None:
    left = w.file.writing[f]
    r = 0
    while left > 0 and r < w.rpc.shape[0]:
        mine = w.rpc.osc[r] != NONE and w.rpc.file[r] == f and w.rpc.dead[r] == 0
        if mine and w.rpc.direction[r] == WRITE:
            left -= 1
            e = w.rpc.ext_head[r]
            while e != NONE:
                await_extent(w, e)
                e = w.extent.next[e]
        r += 1


@kernel
def _await_dirty(w: World, f: int) -> None:
    """Mark every extent of a file that is dirty now, whether it is cached, being filled or in flight."""
    e = next_cached(w, f, 0)
    while e != NONE:
        await_extent(w, e)
        e = next_cached(w, f, w.extent.start[e] + w.extent.pages[e])
    s = w.file.first_stream[f]
    while s != NONE:
        if w.stream.active_ext[s] != NONE:
            await_extent(w, w.stream.active_ext[s])
        s = w.stream.next_in_file[s]
    _await_flying(w, f)


@kernel
def fsync(w: World, s: int, t_us: float) -> bool:
    """Whether the stream's fsync of its file has returned; if not, the stream waits."""
    stream = w.stream
    f = stream.file[s]
    if stream.syncing[s] == NO_FSYNC:
        stream.syncing[s] = DATA_LEAVES
        stream.fsync_us[s] = t_us
        _await_dirty(w, f)
        make_urgent(w, f, t_us)
    if stream.syncing[s] == DATA_LEAVES:
        stream.call_us[s] = t_us
        if w.file.awaited[f] > 0:
            stream.mode[s] = WAITS_FOR_FSYNC
            return False
        stream.syncing[s] = SERVERS_COMMIT
        stream.mode[s] = WAITS_FOR_COMMIT
        asked_us = to_server(w, f, t_us + w.client.metadata_us[stream.client[s]])
        schedule(w, asked_us, SYNC_ARRIVES, s)
        return False
    stream.syncing[s] = NO_FSYNC
    tally_fsync(w, stream.client[s], t_us - stream.fsync_us[s])
    return True


@kernel
def sync_arrives(w: World, s: int, now_us: float) -> None:
    """OST_SYNC: the OST commits its journal now, and answers when its device has done so."""
    f = w.stream.file[s]
    t = w.osc.ost[w.file.osc[f]]
    if w.ost.down[t] == 1:
        schedule(w, now_us + RESEND_US, SYNC_ARRIVES, s)
        return
    done_us = now_us
    if w.ost.written[t] > 0:
        commit_journal(w, t, now_us)
        done_us = max(now_us, w.ssd.free_us[w.ost.ssd[t]])
    schedule(w, to_client(w, f, done_us), SYNC_ANSWERED, s)


@kernel
def _reopen(w: World, s: int, t_us: float) -> float:
    stream = w.stream
    c = stream.client[s]
    w.client.closes[c] += 1
    w.client.opens[c] += 1
    stream.ra_start[s] = 0
    stream.ra_next[s] = 0
    stream.ra_window[s] = 0
    stream.ra_end_of_last[s] = 0
    stream.reads_done[s] = 0
    return t_us + 2.0 * w.client.metadata_us[c]


@kernel
def between_calls(w: World, s: int, t_us: float) -> float:
    """Let a program do what is due before its next call; returns its time then, unless it has to wait."""
    stream = w.stream
    if stream.between[s] & OPENS != 0:
        stream.between[s] = stream.between[s] & ENDS
        w.client.opens[stream.client[s]] += 1
    if stream.between[s] & ENDS == 0:
        return t_us
    written = stream.write_bytes[s]
    if stream.fsync_bytes[s] > 0 and written - stream.fsynced_bytes[s] >= stream.fsync_bytes[s]:
        if not fsync(w, s, t_us):
            return t_us
        stream.fsynced_bytes[s] = written
    moved = written + stream.read_bytes[s]
    if stream.close_bytes[s] > 0 and moved - stream.closed_bytes[s] >= stream.close_bytes[s]:
        stream.closed_bytes[s] = moved
        return _reopen(w, s, t_us)
    return t_us
