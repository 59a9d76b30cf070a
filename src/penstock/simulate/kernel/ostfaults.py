"""What happens to an OST from outside: it slows down, works for somebody else, or stops answering."""

from __future__ import annotations

from penstock.simulate.kernel.calendar import (
    FOREIGN_REQUEST,
    IMPORT_RECONNECTS,
    schedule,
)
from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.connection import evict, first_osc
from penstock.simulate.kernel.disk import is_disk, move_us
from penstock.simulate.kernel.records import NONE, World
from penstock.simulate.kernel.rng import exponential
from penstock.simulate.kernel.server import await_timeout
from penstock.simulate.kernel.states import DISCONN

# The numbers of `penstock.simulate.faults.KINDS`.
SLOW, FAIL, EVICT, LOAD = 0, 1, 2, 3


@kernel
def _set_pace(w: World, t: int) -> None:
    """An OST is as slow as all that slows it down together makes it."""
    slow = 1.0
    down = 0
    for i in range(w.fault.shape[0]):
        if w.fault.ost[i] == t and w.fault.active[i] == 1:
            if w.fault.kind[i] == SLOW:
                slow *= w.fault.factor[i]
            elif w.fault.kind[i] == FAIL:
                down = 1
    w.ost.slow[t] = slow
    w.ost.down[t] = down


@kernel
def fault_begins(w: World, i: int, now_us: float) -> None:
    """A fault begins: its OST is slow, busy or gone from now on, or a client is evicted."""
    fault = w.fault
    t = fault.ost[i]
    fault.active[i] = 1
    if fault.kind[i] == EVICT:
        evict(w, first_osc(w, fault.client[i]) + t, max(now_us, fault.end_us[i]), now_us)
    elif fault.kind[i] == LOAD:
        schedule(w, now_us, FOREIGN_REQUEST, i)
    else:
        _set_pace(w, t)
    if fault.kind[i] == FAIL:
        for c in range(w.client.shape[0]):
            # Even an idle client notices, by its pings.
            await_timeout(w, first_osc(w, c) + t, now_us)


@kernel
def fault_ends(w: World, i: int, now_us: float) -> None:
    """It is over; clients that noticed come back."""
    t = w.fault.ost[i]
    w.fault.active[i] = 0
    if w.fault.kind[i] == LOAD or w.fault.kind[i] == EVICT:
        return
    _set_pace(w, t)
    if w.fault.kind[i] == FAIL and w.ost.down[t] == 0:
        for c in range(w.client.shape[0]):
            o = first_osc(w, c) + t
            if w.osc.state[o] == DISCONN:
                schedule(w, now_us, IMPORT_RECONNECTS, o)


@kernel
def foreign_request(w: World, i: int, now_us: float) -> None:
    """A request of somebody else's occupies the device."""
    fault, ssd = w.fault, w.ssd
    if fault.active[i] == 0:
        return
    turn = fault.turn[i]
    if w.foreign[i, turn] > now_us:
        # As many as they keep outstanding are: the next one waits for the oldest.
        schedule(w, w.foreign[i, turn], FOREIGN_REQUEST, i)
        return
    d = w.ost.ssd[fault.ost[i]]
    writing = fault.writing[i] == 1
    us_page = ssd.write_us_page[d] if writing else ssd.read_us_page[d]
    work_us = fault.pages[i] * us_page + (ssd.write_rpc_us[d] if writing else ssd.read_rpc_us[d])
    if is_disk(w, d):
        # Their files lie elsewhere: there and back.
        work_us += 2.0 * move_us(w, d, -ssd.capacity_pages[d] / 3.0, us_page)
    work_us *= w.ost.slow[fault.ost[i]]
    ssd.free_us[d] = max(now_us, ssd.free_us[d]) + work_us
    ssd.busy_us[d] += work_us
    ssd.foreign_pages[d] += fault.pages[i]
    if not is_disk(w, d):
        ssd.last_file[d] = NONE
    w.foreign[i, turn] = ssd.free_us[d]
    fault.turn[i] = (turn + 1) % fault.depth[i]
    schedule(w, now_us + exponential(w, fault.rng[i], fault.gap_us[i]), FOREIGN_REQUEST, i)
