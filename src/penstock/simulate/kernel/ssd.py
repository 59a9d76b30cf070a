"""The device: work is served in order of arrival, but a lone request cannot use the device fully.

Serving a request occupies the device for its work (a cost per command, per page, per fragment). Flash works in
parallel channels: one request alone takes longer than its work, and the rate rises with the work outstanding,
rate(q) = max * q / (q + ramp). A read far from the previous one also pays a random-access latency. Writes are
answered from memory, `write_buffer` behind what is stored: a short gap between them costs nothing.
"""

from __future__ import annotations

from penstock.simulate.kernel.compiler import entry, kernel
from penstock.simulate.kernel.records import READ, World


@kernel
def _far(w: World, d: int, r: int) -> bool:
    """Whether an RPC lies far from where the device was last at work."""
    f = w.file.home[w.rpc.file[r]]
    low = w.rpc.low[r]
    near = w.ssd.last_file[d] == f and abs(low - w.ssd.last_page[d]) <= w.ssd.near_pages[d]
    w.ssd.last_file[d] = f
    w.ssd.last_page[d] = w.rpc.high[r] + 1
    return not near


@kernel
def _occupy(w: World, d: int, work_us: float, now_us: float) -> float:
    free_us = max(now_us, w.ssd.free_us[d]) + work_us
    w.ssd.free_us[d] = free_us
    w.ssd.busy_us[d] += work_us
    return free_us


@kernel
def _start_write(w: World, d: int, r: int, now_us: float) -> float:
    ssd = w.ssd
    work_us = ssd.write_rpc_us[d] + w.rpc.pages[r] * ssd.write_us_page[d]
    # The fragments of one RPC are queued together: beyond the first they overlap, as many as the device queues.
    fragments = (w.rpc.fragments[r] - 1) / ssd.queue_depth[d] + (1.0 if _far(w, d, r) else 0.0)
    work_us += fragments * ssd.fragment_us[d]
    if ssd.read_work_us[d] > 0.0:
        work_us /= ssd.mixed[d]
    ssd.write_work_us[d] += work_us
    w.rpc.work_us[r] = work_us
    # A write is answered once the bus has carried it and the device's memory has room; flash follows later.
    carry_us = w.rpc.pages[r] * min(ssd.read_us_page[d], ssd.write_us_page[d])
    ssd.bus_free_us[d] = max(now_us, ssd.bus_free_us[d]) + carry_us
    stored_us = _occupy(w, d, work_us, now_us)
    return max(ssd.bus_free_us[d], stored_us - ssd.write_buffer_us[d]) + ssd.write_latency_us[d]


@kernel
def _start_read(w: World, d: int, r: int, now_us: float) -> float:
    ssd = w.ssd
    pages = w.rpc.pages[r]
    scattered = (w.rpc.fragments[r] - 1) / ssd.queue_depth[d]
    work_us = ssd.read_rpc_us[d] + pages * ssd.read_us_page[d] + scattered * ssd.fragment_us[d]
    if ssd.write_work_us[d] > 0.0:
        work_us /= ssd.mixed[d]
    ssd.read_work_us[d] += work_us
    w.rpc.work_us[r] = work_us
    done_us = max(_occupy(w, d, work_us, now_us), now_us + ssd.spread[d] * ssd.read_work_us[d])
    done_us += min(ssd.ramp[d] * work_us, ssd.ramp_max_us[d])
    if _far(w, d, r):
        done_us += ssd.random_read_us[d]
    return done_us


@entry
def start_work(w: World, d: int, r: int, now_us: float) -> float:
    """Hand an RPC's data to the device; returns when the device is done with it."""
    start_us = max(now_us, w.ssd.free_us[d])
    reading = w.rpc.direction[r] == READ
    done_us = _start_read(w, d, r, now_us) if reading else _start_write(w, d, r, now_us)
    slow = w.ost.slow[w.osc.ost[w.rpc.osc[r]]]
    if slow != 1.0:
        # Both the work and the wait that is not work take longer.
        _occupy(w, d, (slow - 1.0) * w.rpc.work_us[r], now_us)
        done_us += (slow - 1.0) * max(0.0, done_us - start_us)
    return done_us


@entry
def end_work(w: World, d: int, r: int) -> None:
    """The device is done with an RPC."""
    if w.rpc.direction[r] == READ:
        w.ssd.read_work_us[d] = max(0.0, w.ssd.read_work_us[d] - w.rpc.work_us[r])
    else:
        w.ssd.write_work_us[d] = max(0.0, w.ssd.write_work_us[d] - w.rpc.work_us[r])
