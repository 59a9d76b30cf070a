"""The processors of a node: RPC and network work is taken up in the order in which it comes, one piece on a core.

Threads of the application get a share of their own: the operating system lets every thread have its turn, however
much work the network's threads have before them. A node described with zero cores has one for every piece of work:
then costs are delays that nobody shares.
"""

from __future__ import annotations

from penstock.simulate.kernel.compiler import entry, kernel
from penstock.simulate.kernel.records import World
from penstock.simulate.kernel.rng import exponential

# Kernel threads of a client that work on RPCs: ptlrpcd and socklnd's.
RPC_THREADS = 2
# How much a thread that slept may be ahead of one that did not: half of the scheduler's latency of 6 ms (CFS,
# place_entity with GENTLE_FAIR_SLEEPERS).
SLEEPERS_CREDIT_US = 3000.0


@kernel
def _take(w: World, first: int, cores: int, work_us: float, now_us: float) -> float:
    if cores == 0 or work_us <= 0.0:
        return now_us + work_us
    core = w.core
    best = first
    for other in range(first + 1, first + cores):
        if core.free_us[other] < core.free_us[best]:
            best = other
    done_us = max(now_us, core.free_us[best]) + work_us
    core.free_us[best] = done_us
    core.busy_us[best] += work_us
    return done_us


@kernel
def client_free_us(w: World, c: int, now_us: float) -> float:
    """When a client begins with work on an RPC that it is given now."""
    cores = w.client.cores[c]
    if cores == 0:
        return now_us
    first = w.client.core[c]
    soonest_us = w.core.free_us[first]
    for other in range(first + 1, first + cores):
        soonest_us = min(soonest_us, w.core.free_us[other])
    return max(now_us, soonest_us)


@kernel
def _varied(w: World, rng: int, ratio: float, work_us: float) -> float:
    """Work whose duration is exponentially distributed for some part."""
    if ratio <= 0.0 or work_us <= 0.0:
        return work_us
    return work_us * (1.0 - ratio) + exponential(w, rng, work_us * ratio)


@kernel
def on_client(w: World, c: int, work_us: float, now_us: float) -> float:
    """When a client is done with work on an RPC that it is given now."""
    varied_us = _varied(w, w.client.rng[c], w.client.work_exponential[c], work_us)
    return _take(w, w.client.core[c], w.client.cores[c], varied_us, now_us)


@kernel
def in_turn(w: World, c: int, work_us: float, now_us: float) -> float:
    """The same for a thread that has its turns between all others: an application's, or the one that builds RPCs."""
    cores = w.client.cores[c]
    if cores == 0:
        return now_us + work_us
    last_us = _take(w, w.client.core[c], cores, work_us, now_us)
    rivals = (RPC_THREADS + w.client.working[c]) / cores
    return min(last_us, now_us + work_us * max(1.0, rivals))


@kernel
def by_daemon(w: World, c: int, work_us: float, now_us: float) -> float:
    """The same for the daemon that builds RPCs and deals with replies.

    A thread that had less than its share of the core goes first, and the others' work is put off (Linux's CFS runs
    the thread with the least virtual time). What it saves up while it sleeps is bounded.
    """
    client = w.client
    cores = client.cores[c]
    if cores == 0:
        return now_us + work_us
    rivals = max(1.0, (RPC_THREADS + client.working[c]) / cores)
    saved_us = client.daemon_saved_us[c] + (now_us - client.daemon_seen_us[c]) / rivals
    saved_us = min(saved_us, SLEEPERS_CREDIT_US)
    client.daemon_seen_us[c] = now_us
    client.daemon_saved_us[c] = max(0.0, saved_us - work_us)
    if saved_us < work_us:
        return in_turn(w, c, work_us, now_us)
    return min(now_us + work_us, _take(w, client.core[c], cores, work_us, now_us))


@kernel
def on_server(w: World, s: int, work_us: float, now_us: float) -> float:
    """When an OSS is done with work that it is given now."""
    varied_us = _varied(w, w.oss.rng[s], w.oss.work_exponential[s], work_us)
    return _take(w, w.oss.core[s], w.oss.cores[s], varied_us, now_us)


@entry
def look(w: World, c: int) -> None:
    """Somebody reads the client's counters, which takes its processor's time."""
    if w.client.cores[c] > 0:
        on_client(w, c, w.client.observe_us[c], w.sim.now_us[0])
