"""The client's knobs with the kernel's own refusals, rounding and side effects."""

from __future__ import annotations

from penstock.simulate.kernel.compiler import entry
from penstock.simulate.kernel.grant import blocked_stream
from penstock.simulate.kernel.records import NONE, PAGE, World
from penstock.simulate.kernel.rpcs import send_rpcs
from penstock.simulate.kernel.streams import wake


@entry
def apply_knobs(w: World, o: int, pages: int, flight: int, dirty_pages: int) -> None:
    """New values for one OSC, as stored: a raised limit wakes waiters and fills slots at once."""
    w.osc.pages[o] = pages
    w.osc.flight[o] = flight
    w.osc.dirty_max[o] = dirty_pages
    now_us = w.sim.now_us[0]
    if w.osc.waiters[o] > 0 and w.osc.dirty[o] < dirty_pages:
        need = PAGE + w.client.extent_tax_bytes[w.osc.client[o]]
        s = blocked_stream(w, o) if w.osc.grant_bytes[o] >= need else NONE
        if s != NONE:
            w.osc.waiters[o] -= 1
            wake(w, s, now_us)
    send_rpcs(w, o, now_us)
