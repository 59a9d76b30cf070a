"""The event loop: take what is due first, let it happen, until a given time."""

from __future__ import annotations

from penstock.simulate.kernel.calendar import (
    BUILDER_IS_FREE,
    BULK_ACKNOWLEDGED,
    BULK_ARRIVES,
    BULK_ASKED_FOR,
    DAEMON_HAS_TURN,
    DEVICE_DONE,
    FAULT_BEGINS,
    FAULT_ENDS,
    FLUSHER_RUNS,
    FOREIGN_REQUEST,
    IMPORT_RECONNECTS,
    IMPORT_TIMES_OUT,
    JOURNAL_COMMITS,
    LOCK_ARRIVES,
    LOCK_CALLED_BACK,
    LOCK_CANCELLED,
    LOCK_WANTED,
    MESSAGE_LEAVES,
    REPLY_ARRIVES,
    REQUEST_ARRIVES,
    REQUEST_IS_READ,
    RPC_IS_DUE,
    SEGMENT_ARRIVES,
    STREAM_RUNS,
    SYNC_ANSWERED,
    SYNC_ARRIVES,
    drop_first,
    next_time,
    schedule,
)
from penstock.simulate.kernel.compiler import entry, kernel
from penstock.simulate.kernel.completion import reply_arrives
from penstock.simulate.kernel.connection import import_is_full, import_reconnects, import_times_out
from penstock.simulate.kernel.flusher import flush_old
from penstock.simulate.kernel.foresight import look_ahead
from penstock.simulate.kernel.locks import lock_arrives, lock_called_back, lock_cancelled, lock_wanted
from penstock.simulate.kernel.ostfaults import fault_begins, fault_ends, foreign_request
from penstock.simulate.kernel.records import ROOMY, World
from penstock.simulate.kernel.replies import daemon_has_turn
from penstock.simulate.kernel.rpcs import builder_is_free, rpc_is_due
from penstock.simulate.kernel.server import (
    bulk_acknowledged,
    bulk_arrives,
    bulk_asked_for,
    commit_journal,
    device_done,
    reply_is_in,
    request_arrives,
    request_is_read,
    segment_arrives,
)
from penstock.simulate.kernel.streams import run_stream, wake
from penstock.simulate.kernel.syncing import sync_arrives
from penstock.simulate.kernel.transfer import message_leaves


@kernel
def _go_wrong(w: World, kind: int, subject: int, now_us: float) -> None:
    if kind == FAULT_BEGINS:
        fault_begins(w, subject, now_us)
    elif kind == FAULT_ENDS:
        fault_ends(w, subject, now_us)
    elif kind == FOREIGN_REQUEST:
        foreign_request(w, subject, now_us)
    elif kind == IMPORT_TIMES_OUT:
        import_times_out(w, subject, now_us)
    elif kind == IMPORT_RECONNECTS:
        import_reconnects(w, subject, now_us)
    else:
        import_is_full(w, subject, now_us)


@kernel
def _step(w: World, kind: int, subject: int, now_us: float) -> None:
    if kind == SEGMENT_ARRIVES:
        segment_arrives(w, subject, now_us)
    elif kind == MESSAGE_LEAVES:
        message_leaves(w, subject, now_us)
    elif kind == RPC_IS_DUE:
        rpc_is_due(w, subject, now_us)
    elif kind == REQUEST_IS_READ:
        request_is_read(w, subject, now_us)
    elif kind == BULK_ASKED_FOR:
        bulk_asked_for(w, subject, now_us)
    elif kind == BULK_ACKNOWLEDGED:
        bulk_acknowledged(w, subject, now_us)
    elif kind == DAEMON_HAS_TURN:
        daemon_has_turn(w, subject, now_us)
    elif kind == SYNC_ARRIVES:
        sync_arrives(w, subject, now_us)
    elif kind == SYNC_ANSWERED:
        wake(w, subject, now_us)
    else:
        reply_is_in(w, subject, now_us)


@kernel
def _negotiate(w: World, kind: int, subject: int, now_us: float) -> None:
    if kind == LOCK_WANTED:
        lock_wanted(w, subject, now_us)
    elif kind == LOCK_ARRIVES:
        lock_arrives(w, subject)
        wake(w, subject, now_us)
    elif kind == LOCK_CALLED_BACK:
        lock_called_back(w, subject, now_us)
    elif kind == LOCK_CANCELLED:
        lock_cancelled(w, subject, now_us)


@kernel
def _happen(w: World, kind: int, subject: int, now_us: float) -> None:
    if kind == STREAM_RUNS:
        run_stream(w, subject, now_us)
    elif kind == REPLY_ARRIVES:
        reply_arrives(w, subject, now_us)
    elif kind == DEVICE_DONE:
        device_done(w, subject, now_us)
    elif kind == REQUEST_ARRIVES:
        request_arrives(w, subject, now_us)
    elif kind == BULK_ARRIVES:
        bulk_arrives(w, subject, now_us)
    elif kind == BUILDER_IS_FREE:
        builder_is_free(w, subject, now_us)
    elif kind >= RPC_IS_DUE:
        _step(w, kind, subject, now_us)
    elif kind >= FAULT_BEGINS:
        _go_wrong(w, kind, subject, now_us)
    elif kind >= LOCK_WANTED:
        _negotiate(w, kind, subject, now_us)
    elif kind == FLUSHER_RUNS:
        flush_old(w, subject, now_us)
        schedule(w, now_us + w.client.flush_every_us[subject], FLUSHER_RUNS, subject)
    elif kind == JOURNAL_COMMITS:
        commit_journal(w, subject, now_us)
        schedule(w, now_us + w.ost.journal_every_us[subject], JOURNAL_COMMITS, subject)


@kernel
def _note(w: World, now_us: float, kind: int, subject: int) -> None:
    """Fold the event into a running digest, so that whole runs can be compared event by event."""
    nanoseconds = int(now_us * 1000.0)
    w.trace[0] = (w.trace[0] * 1000003 + nanoseconds) % 2147483647
    w.trace[0] = (w.trace[0] * 1000003 + kind) % 2147483647
    w.trace[0] = (w.trace[0] * 1000003 + subject) % 2147483647


@entry
def run_until(w: World, until_us: float) -> None:
    """Let everything happen that is due before or at a time; afterwards it is that time, unless a pool is full."""
    sim, heap = w.sim, w.heap
    sim.until_us[0] = until_us
    while sim.full[0] == ROOMY and next_time(w) <= until_us:
        if sim.foresees[0] == 1 and sim.foreseen[0] < sim.today[0]:
            look_ahead(w)
        now_us = heap.t_us[0]
        kind, subject = heap.kind[0], heap.subject[0]
        sim.now_us[0] = now_us
        if sim.traced[0] == 1:
            _note(w, now_us, kind, subject)
        sim.events[0] += 1
        drop_first(w)
        _happen(w, kind, subject, now_us)
    if sim.full[0] == ROOMY:
        sim.now_us[0] = until_us
