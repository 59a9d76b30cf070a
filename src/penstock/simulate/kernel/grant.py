"""Permission to hold dirty pages: grant from the server, the extent tax, and the client's own dirty limits."""

from __future__ import annotations

from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.counters import account
from penstock.simulate.kernel.records import NONE, PAGE, World
from penstock.simulate.kernel.states import WAITS_FOR_CACHE


@kernel
def admissible(w: World, o: int, wanted: int, tax_bytes: int) -> int:
    """How many of the wanted new dirty pages may enter now, when they also cost a tax."""
    c = w.osc.client[o]
    by_grant = int((w.osc.grant_bytes[o] - tax_bytes) // PAGE)
    by_limit = w.osc.dirty_max[o] - w.osc.dirty[o]
    by_node = w.client.dirty_max[c] - w.client.dirty[c]
    return max(0, min(min(wanted, by_grant), min(by_limit, by_node)))


@kernel
def reserve(w: World, o: int, pages: int, tax_bytes: int, now_us: float) -> int:
    """Enter new dirty pages; returns the bytes of grant they hold until their RPC completes."""
    held = pages * PAGE + tax_bytes
    w.osc.grant_bytes[o] -= held
    account(w, o, now_us)
    w.osc.dirty[o] += pages
    w.client.dirty[w.osc.client[o]] += pages
    return held


@kernel
def refund(w: World, o: int, pages: int, held_bytes: int, now_us: float) -> None:
    """The server has the pages: they are clean, and the reply returns their grant, tax included."""
    w.osc.grant_bytes[o] += held_bytes
    account(w, o, now_us)
    w.osc.dirty[o] -= pages
    w.client.dirty[w.osc.client[o]] -= pages


@kernel
def grow(w: World, o: int) -> None:
    """A write reply carries new grant: what the client asks for, in steps, as far as the server's free space goes."""
    c = w.osc.client[o]
    pages = max(w.osc.dirty_max[o], w.osc.pages[o] * (w.osc.flight[o] + 1))
    extents = (pages + w.osc.pages[o] - 1) // w.osc.pages[o]
    want = pages * PAGE + w.client.extent_tax_bytes[c] * extents
    free = w.osc.grant_max_bytes[o] - w.osc.grant_total_bytes[o]
    step = min(min(want - w.osc.grant_total_bytes[o], free), w.client.grant_step_bytes[c])
    if step > 0.0:
        w.osc.grant_bytes[o] += step
        w.osc.grant_total_bytes[o] += step


@kernel
def stranded(w: World, o: int) -> bool:
    """Nothing dirty is left whose completion could bring grant: only a synchronous write gets through."""
    return w.osc.dirty[o] == 0 and w.osc.grant_bytes[o] < PAGE + w.client.extent_tax_bytes[w.osc.client[o]]


@kernel
def blocked_stream(w: World, o: int) -> int:
    """A stream that waits in the cache-waiter queue of this OSC, the one that came first."""
    found = NONE
    first = w.osc.first_file[o]
    f = first
    while f != NONE:
        s = w.file.first_stream[f]
        while s != NONE:
            if w.stream.mode[s] == WAITS_FOR_CACHE and (
                found == NONE or w.stream.blocked[s] < w.stream.blocked[found]
            ):
                found = s
            s = w.stream.next_in_file[s]
        f = w.file.next_in_osc[f]
        if f == first:
            break
    return found
