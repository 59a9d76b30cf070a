"""The kernel's writeback: every 5 s it sends what belongs to files that have been dirty for 30 s."""

from __future__ import annotations

from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.offsets import next_cached
from penstock.simulate.kernel.queues import enlist
from penstock.simulate.kernel.records import NONE, World
from penstock.simulate.kernel.rpcs import send_rpcs
from penstock.simulate.kernel.states import UNLISTED, URGENT


@kernel
def make_urgent(w: World, f: int, now_us: float) -> None:
    """Send all of a file's cached pages as soon as slots allow, as fsync and writeback do."""
    e = next_cached(w, f, 0)
    while e != NONE:
        if w.extent.kind[e] == UNLISTED:
            enlist(w, e, URGENT)
        e = next_cached(w, f, w.extent.start[e] + w.extent.pages[e])
    send_rpcs(w, w.file.osc[f], now_us)


@kernel
def flush_old(w: World, c: int, now_us: float) -> None:
    """One pass of the flusher over a client's files.

    A file that never becomes clean stays old: once 30 s have passed it is flushed at every pass.
    """
    f = w.client.first_file[c]
    while f != NONE:
        since_us = w.file.dirtied_us[f]
        if w.osc.dirty[w.file.osc[f]] == 0:
            w.file.dirtied_us[f] = -1.0
        elif since_us >= 0.0 and now_us - since_us >= w.client.flush_age_us[c]:
            make_urgent(w, f, now_us)
        f = w.file.next_in_client[f]
