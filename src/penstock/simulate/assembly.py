"""Builds the arrays of a simulated cluster from its description and its workloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.simulate.cluster import Cluster
from penstock.simulate.counters import FLIGHT_BINS, PAGES_BINS, SUM_COLUMNS
from penstock.simulate.events import FLUSHER_RUNS, JOURNAL_COMMITS, STREAM_RUNS, schedule
from penstock.simulate.layout import (
    NONE,
    PAGE,
    World,
)
from penstock.simulate.rng import seeded
from penstock.units import GIB, MIB
from penstock.workload import Workload

RPCS_PER_OSC = 272
SECOND_US = 1e6


@dataclass(frozen=True, slots=True)
class Job:
    """A workload on one client, from a start time until a stop time (0: for ever).

    Its files lie on consecutive OSTs from `first_ost` on; where none is given, jobs start one OSS apart.
    """

    workload: Workload
    client: int = 0
    start_s: float = 0.0
    stop_s: float = 0.0
    first_ost: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """All that determines a run besides the settings."""

    cluster: Cluster
    jobs: tuple[Job, ...]
    clients: int
    seed: int
    traced: bool = False


def assemble(plan: Plan) -> World:
    """A world at time zero, idle, every stream about to start, default knobs not yet set."""
    cluster = plan.cluster
    files = _files(plan)
    oscs = plan.clients * cluster.layout.ost_count
    osses = -(-cluster.layout.ost_count // cluster.layout.osts_per_oss)
    world = _empty(plan, files, oscs, osses)
    _fill_servers(world, cluster, plan.clients)
    _fill_clients(world, cluster, plan.clients)
    _fill_files(world, files)
    _fill_streams(world, plan)
    _chain_pools(world)
    _fill_calendar(world, plan)
    return world


@dataclass(frozen=True, slots=True)
class _File:
    osc: int
    client: int
    pages: int
    written: bool
    cached: int


def _files(plan: Plan) -> list[_File]:
    found = []
    osts = plan.cluster.layout.ost_count
    for number, job in enumerate(plan.jobs):
        work = job.workload
        for stream in range(work.streams):
            ost = (_first_ost(plan, number) + stream) % osts
            pages = -(-work.file_bytes // PAGE)
            cached = max(1, work.cache_bytes // PAGE)
            found.append(_File(job.client * osts + ost, job.client, pages, work.read_ratio < 1.0, cached))
    return found


def _first_ost(plan: Plan, number: int) -> int:
    given = plan.jobs[number].first_ost
    return number * plan.cluster.layout.osts_per_oss if given is None else given


def _empty(plan: Plan, files: Sequence[_File], oscs: int, osses: int) -> World:
    layout = plan.cluster.layout
    streams = sum(job.workload.streams for job in plan.jobs)
    rpcs = min(oscs, len(files)) * RPCS_PER_OSC + 64
    osc_files = [[f for f in files if f.osc == o] for o in range(oscs)]
    lru = sum(_lru_size(of) for of in osc_files)
    pages = sum(f.pages for f in files)
    written = sum(f.pages for f in files if f.written)
    links = 2 * plan.clients * osses
    shapes: dict[str, tuple[int, ...]] = {
        "sim": (1,),
        "heap": (rpcs + streams + plan.clients + layout.ost_count + oscs + 16,),
        "client": (plan.clients,),
        "osc": (oscs,),
        "file": (len(files),),
        "stream": (streams,),
        "extent": (_extents(plan, files),),
        "rpc": (rpcs,),
        "oss": (osses,),
        "ost": (layout.ost_count,),
        "ssd": (-(-layout.ost_count // layout.osts_per_device),),
        "nic": (plan.clients + osses,),
        "link": (links,),
        "lru": (lru,),
        "credit": (links, plan.cluster.network.peer_credits),
        "rng": (streams + osses, 2),
        "page_state": (pages,),
        "page_extent": (max(written, 1),),
        "index1": (sum((f.pages >> 6) + 1 for f in files),),
        "index2": (sum((f.pages >> 12) + 1 for f in files),),
        "index3": (sum((f.pages >> 18) + 1 for f in files),),
        "sums": (2 * oscs, SUM_COLUMNS),
        "pages_histogram": (2 * oscs, PAGES_BINS),
        "flight_histogram": (2 * oscs, FLIGHT_BINS),
        "trace": (1 if plan.traced else 0,),
    }
    world = World(shapes)
    world.page_extent[:] = NONE
    world.rng[:] = seeded(streams + osses, plan.seed)
    return world


def _extents(plan: Plan, files: Sequence[_File]) -> int:
    """As many extents as grant can pay for, and as many reads as the largest call or window can queue."""
    lustre = plan.cluster.lustre
    most = max(lustre.grant_initial_bytes, lustre.grant_max_bytes)
    held = PAGE + int(lustre.extent_tax_kib * 1024)
    largest = max(job.workload.request_bytes for job in plan.jobs) // PAGE
    window = int(plan.cluster.client.read_ahead_mib * MIB) // PAGE
    each = [min(f.pages, most // held + 1024) if f.written else 0 for f in files]
    return sum(each) + len(files) * (2 * largest + 2 * window + 1024 + RPCS_PER_OSC)


def _lru_size(files: Sequence[_File]) -> int:
    if not files:
        return 0
    return min(sum(f.pages for f in files), max(f.cached for f in files) * 5 // 4) + 16


def _fill_servers(w: World, cluster: Cluster, clients: int) -> None:
    server, device, network = cluster.server, cluster.device, cluster.network
    osses = w.oss.shape[0]
    w.oss.nic[:] = clients + np.arange(osses)
    w.oss.threads[:] = server.threads
    w.oss.request_us[:] = server.request_us
    w.oss.request_exponential[:] = server.request_exponential_ratio
    w.oss.reply_us[:] = server.reply_us
    w.oss.page_us[:] = server.checksum_us_per_page
    w.oss.fragment_us[:] = server.map_us_per_fragment
    w.oss.queue_head[:] = NONE
    w.oss.queue_tail[:] = NONE
    w.oss.rng[:] = w.stream.shape[0] + np.arange(osses)
    osts = np.arange(cluster.layout.ost_count)
    w.ost.oss[:] = osts // cluster.layout.osts_per_oss
    w.ost.ssd[:] = osts // cluster.layout.osts_per_device
    w.ost.journal_every_us[:] = server.journal_every_s * SECOND_US
    w.ost.journal_us[:] = server.journal_ms * 1e3
    w.ost.range_lock[:] = 1 if cluster.lustre.version == "2.15" else 0
    for name in ["read_rpc_us", "write_rpc_us", "random_read_us", "write_latency_us", "fragment_us"]:
        w.ssd[name][:] = getattr(device, name)
    w.ssd.read_us_page[:] = device.read_us_per_page
    w.ssd.write_us_page[:] = device.write_us_per_page
    w.ssd.ramp[:] = device.read_ramp
    w.ssd.ramp_max_us[:] = device.read_ramp_max_us
    w.ssd.spread[:] = device.read_spread
    w.ssd.mixed[:] = device.mixed_ratio
    w.ssd.near_pages[:] = int(device.near_kib * 1024) // PAGE
    w.ssd.queue_depth[:] = device.queue_depth
    w.ssd.last_file[:] = NONE
    w.nic.us_per_byte[:clients] = 1.0 / network.client_mb_per_s
    w.nic.us_per_byte[clients:] = 1.0 / network.server_mb_per_s
    w.link.latency_us[:] = network.round_trip_us / 2.0


def _fill_clients(w: World, cluster: Cluster, clients: int) -> None:
    client, lustre = cluster.client, cluster.lustre
    same = "read_call_us write_call_us wake_us build_read_us build_write_us reply_read_us reply_write_us"
    for name in same.split():
        w.client[name][:] = getattr(client, name)
    per_page = "read_copy read_submit write_new write_over build_write reply"
    for name in per_page.split():
        w.client[f"{name}_us_page"][:] = getattr(client, f"{name}_us_per_page")
    w.client.build_write_us_extent[:] = client.build_write_us_per_extent
    w.client.lru_free_us_page[:] = client.drop_us_per_page
    w.client.flush_every_us[:] = client.flush_every_s * SECOND_US
    w.client.flush_age_us[:] = client.flush_age_s * SECOND_US
    w.client.extent_tax_bytes[:] = lustre.extent_tax_kib * 1024
    w.client.grant_step_bytes[:] = lustre.grant_step_bytes
    w.client.ra_max[:] = int(client.read_ahead_mib * MIB) // PAGE
    w.client.ra_refill[:] = int(client.read_ahead_refill_mib * MIB) // PAGE
    w.client.ra_whole[:] = int(client.read_ahead_whole_mib * MIB) // PAGE
    w.client.dirty_max[:] = int(client.ram_gb * GIB) // 2 // PAGE
    w.client.cached_max[:] = int(client.ram_gb * GIB) // 2 // PAGE
    w.client.nic[:] = np.arange(clients)
    w.client.osts[:] = cluster.layout.ost_count
    w.client.first_file[:] = NONE
    oscs = np.arange(w.osc.shape[0])
    w.osc.client[:] = oscs // cluster.layout.ost_count
    w.osc.ost[:] = oscs % cluster.layout.ost_count
    w.osc.grant_bytes[:] = lustre.grant_initial_bytes
    w.osc.grant_total_bytes[:] = lustre.grant_initial_bytes
    w.osc.grant_max_bytes[:] = max(lustre.grant_initial_bytes, lustre.grant_max_bytes)
    w.osc.first_file[:] = NONE
    w.osc.cursor[:] = NONE


def _fill_files(w: World, files: Sequence[_File]) -> None:
    for name in [
        "hp_head",
        "hp_tail",
        "urgent_head",
        "urgent_tail",
        "full_head",
        "full_tail",
        "reading_head",
        "reading_tail",
        "locked_head",
        "locked_tail",
        "first_stream",
        "next_in_client",
        "ext_base",
    ]:
        w.file[name][:] = NONE
    w.file.dirtied_us[:] = -1.0
    state = extent = one = two = three = 0
    for i, f in enumerate(files):
        w.file.osc[i], w.file.pages[i], w.file.state_base[i] = f.osc, f.pages, state
        w.file.index1_base[i], w.file.index2_base[i], w.file.index3_base[i] = one, two, three
        state, one, two, three = (
            state + f.pages,
            one + (f.pages >> 6) + 1,
            two + (f.pages >> 12) + 1,
            three + (f.pages >> 18) + 1,
        )
        if f.written:
            w.file.ext_base[i] = extent
            extent += f.pages
        w.file.next_in_client[i] = w.client.first_file[f.client]
        w.client.first_file[f.client] = i
        _join_ring(w, i, f.osc)
    _fill_lru(w, files)


def _join_ring(w: World, i: int, o: int) -> None:
    first = w.osc.first_file[o]
    if first == NONE:
        w.osc.first_file[o] = w.osc.cursor[o] = w.file.next_in_osc[i] = i
    else:
        w.file.next_in_osc[i] = w.file.next_in_osc[first]
        w.file.next_in_osc[first] = i


def _fill_lru(w: World, files: Sequence[_File]) -> None:
    base = 0
    for o in sorted({f.osc for f in files}):
        w.osc.lru_base[o] = base
        w.osc.lru_size[o] = _lru_size([f for f in files if f.osc == o])
        base += w.osc.lru_size[o]


def _fill_streams(w: World, plan: Plan) -> None:
    s = 0
    for job in plan.jobs:
        work = job.workload
        for _ in range(work.streams):
            w.stream.client[s], w.stream.file[s], w.stream.rng[s] = job.client, s, s
            w.stream.read_ratio[s] = work.read_ratio
            w.stream.sequential[s] = int(work.sequential)
            w.stream.request[s] = max(1, -(-work.request_bytes // PAGE))
            w.stream.think_us[s] = work.think_s * SECOND_US
            w.stream.active_us[s], w.stream.idle_us[s] = work.active_s * SECOND_US, work.idle_s * SECOND_US
            w.stream.start_us[s], w.stream.stop_us[s] = job.start_s * SECOND_US, job.stop_s * SECOND_US
            w.stream.phase_us[s] = job.start_s * SECOND_US
            w.stream.cache_pages[s] = max(1, work.cache_bytes // PAGE)
            w.stream.wait_page[s] = w.stream.active_ext[s] = NONE
            w.stream.next_in_file[s] = w.file.first_stream[s]
            w.file.first_stream[s] = s
            s += 1


def _chain_pools(w: World) -> None:
    w.rpc.next[:] = np.arange(1, w.rpc.shape[0] + 1)
    w.rpc.next[-1] = NONE
    w.extent.next[:] = np.arange(1, w.extent.shape[0] + 1)
    w.extent.next[-1] = NONE


def _fill_calendar(w: World, plan: Plan) -> None:
    for s in range(w.stream.shape[0]):
        schedule(w, w.stream.start_us[s], STREAM_RUNS, s)
    for c in range(plan.clients):
        schedule(w, w.client.flush_every_us[c], FLUSHER_RUNS, c)
    for t in range(w.ost.shape[0]):
        schedule(w, w.ost.journal_every_us[t], JOURNAL_COMMITS, t)
