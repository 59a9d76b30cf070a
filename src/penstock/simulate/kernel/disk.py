"""A spinning disk: requests queue and an elevator picks the next one; moving the head costs a seek and a wait.

The elevator sweeps upwards and starts again at the bottom; what has waited too long goes first (mq-deadline's 0.5 s
for reads, 5 s for writes). A request that begins where the last one ended costs no movement, so neighbours in
the queue merge into one transfer. Skipping a short gap costs at most the time the gap passes under the head.
"""

from __future__ import annotations

import math

from penstock.simulate.kernel.calendar import DEVICE_DONE, schedule
from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.records import NONE, READ, World

READ_EXPIRES_US, WRITE_EXPIRES_US = 0.5e6, 5e6


@kernel
def is_disk(w: World, d: int) -> bool:
    """Whether the device spins."""
    return w.ssd.rotation_us[d] > 0.0


@kernel
def _position(w: World, r: int) -> int:
    return w.file.disk_page[w.file.home[w.rpc.file[r]]] + w.rpc.low[r]


@kernel
def move_us(w: World, d: int, pages: float, us_page: float) -> float:
    """The time to get to a page so far away: a seek and half a turn, or letting the gap pass by."""
    distance = abs(pages)
    if distance < 1.0:
        return 0.0
    stroke = math.sqrt(min(1.0, distance / w.ssd.capacity_pages[d]))
    seek_us = w.ssd.track_us[d] + w.ssd.stroke_us[d] * stroke + 0.5 * w.ssd.rotation_us[d]
    return min(seek_us, distance * us_page) if pages > 0.0 else seek_us


@kernel
def _choose(w: World, d: int, now_us: float) -> int:
    """The request to serve next, taken out of the queue."""
    rpc = w.rpc
    oldest = w.ssd.queue_head[d]
    expires_us = READ_EXPIRES_US if rpc.direction[oldest] == READ else WRITE_EXPIRES_US
    best, best_before = oldest, NONE
    if now_us - rpc.queued_us[oldest] < expires_us:
        head = w.ssd.last_page[d]
        nearest = 1 << 62
        before, r = NONE, oldest
        while r != NONE:
            ahead = _position(w, r) - head
            # What lies behind the head comes with the next sweep.
            ahead += 0 if ahead >= 0 else 1 << 61
            if ahead < nearest:
                nearest, best, best_before = ahead, r, before
            before, r = r, rpc.next[r]
    if best_before == NONE:
        w.ssd.queue_head[d] = rpc.next[best]
    else:
        rpc.next[best_before] = rpc.next[best]
    if w.ssd.queue_tail[d] == best:
        w.ssd.queue_tail[d] = best_before
    return best


@kernel
def _serve(w: World, d: int, now_us: float) -> None:
    r = _choose(w, d, now_us)
    ssd, rpc = w.ssd, w.rpc
    reading = rpc.direction[r] == READ
    us_page = ssd.read_us_page[d] if reading else ssd.write_us_page[d]
    position = _position(w, r)
    work_us = move_us(w, d, float(position - ssd.last_page[d]), us_page) + rpc.pages[r] * us_page
    work_us += ssd.read_rpc_us[d] if reading else ssd.write_rpc_us[d]
    gaps = rpc.fragments[r] - 1
    if gaps > 0:
        skipped = (rpc.high[r] + 1 - rpc.low[r] - rpc.pages[r]) / gaps
        work_us += gaps * move_us(w, d, skipped, us_page)
    work_us *= w.ost.slow[w.osc.ost[rpc.osc[r]]]
    ssd.last_page[d] = position + rpc.high[r] + 1 - rpc.low[r]
    ssd.serving[d] = 1
    ssd.busy_us[d] += work_us
    done_us = max(now_us, ssd.free_us[d]) + work_us
    ssd.free_us[d] = done_us
    schedule(w, done_us, DEVICE_DONE, r)


@kernel
def queue_on_disk(w: World, d: int, r: int, now_us: float) -> None:
    """Hand an RPC's data to the disk."""
    ssd = w.ssd
    w.rpc.queued_us[r] = now_us
    w.rpc.next[r] = NONE
    if ssd.queue_tail[d] == NONE:
        ssd.queue_head[d] = r
    else:
        w.rpc.next[ssd.queue_tail[d]] = r
    ssd.queue_tail[d] = r
    if ssd.serving[d] == 0:
        _serve(w, d, now_us)


@kernel
def disk_done(w: World, d: int, now_us: float) -> None:
    """The disk has served a request: on to the next, if any."""
    w.ssd.serving[d] = 0
    if w.ssd.queue_head[d] != NONE:
        _serve(w, d, now_us)
