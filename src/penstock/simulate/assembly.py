"""Builds the arrays of a simulated cluster from its description and its workloads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.errors import UsageError
from penstock.simulate.cluster import Cluster
from penstock.simulate.faults import KINDS, Fault
from penstock.simulate.hardware import fill_clients, fill_servers
from penstock.simulate.kernel.calendar import (
    DAYS,
    FAULT_BEGINS,
    FAULT_ENDS,
    FLUSHER_RUNS,
    JOURNAL_COMMITS,
    LAST_DAY,
    STREAM_RUNS,
    schedule,
)
from penstock.simulate.kernel.counters import FLIGHT_BINS, PAGES_BINS, SUM_COLUMNS
from penstock.simulate.kernel.records import NONE, PAGE, World
from penstock.simulate.kernel.rng import seeded
from penstock.simulate.kernel.rpcs import RPCS_PER_OSC
from penstock.simulate.kernel.syncing import ENDS, OPENS
from penstock.simulate.placement import FileWish, PlacedFile, Placement, place
from penstock.simulate.script import Script
from penstock.simulate.scripting import ScriptLayout, fill_scripts, lay_out
from penstock.units import MIB
from penstock.workload import Workload

# Readahead windows of one scripted stream that may be under way at once.
READ_AHEADS = 8
SECOND_US = 1e6
# Of so many streams no processor's caches hold what they need. With fewer, putting events off by days and fetching
# records ahead cost more than they save.
STREAMS_FORESEEN = 100


@dataclass(frozen=True, slots=True)
class Job:
    """A workload on one client, from a start time until a stop time (0: for ever).

    Its streams' files lie on `osts` in turn; without any, jobs choose consecutive OSTs, one OSS apart. All
    streams of all jobs that name the same `shared` file work on that one object, on the first of those OSTs.
    `reads_of` is the number of another job of the plan: the streams read that job's files, in turn.
    Each stream calls fsync after `fsync_bytes` written, and closes and opens its file after `close_bytes` moved.
    """

    workload: Workload
    client: int = 0
    start_s: float = 0.0
    stop_s: float = 0.0
    osts: tuple[int, ...] = ()
    shared: str = ""
    fsync_bytes: int = 0
    close_bytes: int = 0
    reads_of: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """All that determines a run besides the settings."""

    cluster: Cluster
    jobs: tuple[Job, ...]
    clients: int
    seed: int
    traced: bool = False
    faults: tuple[Fault, ...] = ()
    scripts: tuple[Script, ...] = ()


def assemble(plan: Plan) -> World:
    """A world at time zero, idle, every stream about to start, default knobs not yet set."""
    cluster = plan.cluster
    scripted = lay_out(plan.scripts, cluster.layout.ost_count)
    placement = place([*_wishes(plan), *scripted.wishes], cluster.layout.ost_count)
    oscs = plan.clients * cluster.layout.ost_count
    osses = -(-cluster.layout.ost_count // cluster.layout.osts_per_oss)
    world = _empty(plan, scripted, placement, oscs, osses)
    fill_servers(world, cluster, plan.clients)
    fill_clients(world, cluster, plan.clients)
    _fill_files(world, placement, cluster)
    _fill_streams(world, plan, placement)
    fill_scripts(world, scripted, placement)
    _chain_pools(world)
    _fill_calendar(world, plan)
    return world


def _wishes(plan: Plan) -> Iterator[FileWish]:
    read_elsewhere = {job.reads_of for job in plan.jobs}
    for number, job in enumerate(plan.jobs):
        if not 0 <= job.client < plan.clients:
            raise UsageError(f"a job runs on client {job.client}, there are {plan.clients}")
        work = job.workload
        owner = number if job.reads_of is None else job.reads_of
        source = plan.jobs[owner]
        for stream in range(work.streams):
            which = stream % source.workload.streams
            shared = source.shared
            if owner in read_elsewhere and not shared:
                shared = f"file {which} of job {owner}"
            yield FileWish(
                client=job.client,
                ost=_ost(plan, owner, which),
                file_bytes=source.workload.file_bytes,
                cache_bytes=work.cache_bytes,
                written=work.read_ratio < 1.0,
                shared=shared,
            )


def _ost(plan: Plan, number: int, stream: int) -> int:
    """Where a stream's file lies: those of one job on consecutive OSTs, and jobs start one OSS apart."""
    layout, job = plan.cluster.layout, plan.jobs[number]
    if job.osts:
        return job.osts[stream % len(job.osts)]
    return (number * layout.osts_per_oss + stream) % layout.ost_count


def _empty(plan: Plan, scripted: ScriptLayout, placement: Placement, oscs: int, osses: int) -> World:
    layout = plan.cluster.layout
    files = placement.files
    streams = sum(job.workload.streams for job in plan.jobs) + scripted.streams
    faults = _faults(plan)
    # An evicted client's RPCs linger at the server while new ones are sent.
    evictions = sum(fault.kind == "evict" for fault, _ in faults)
    rpcs = (min(oscs, len(files)) + evictions) * RPCS_PER_OSC + 64
    locks = sum(_lock_room(len(group)) for group in _shared_groups(files).values())
    failures = sum(fault.kind == "fail" for fault, _ in faults)
    rare = 3 * (locks + len(faults)) + plan.clients * failures
    lru = sum(_lru_size(of, plan.cluster) for of in placement.by_osc().values())
    pages = sum(f.pages for f in files)
    written = sum(f.pages for f in files if f.written)
    links = 2 * plan.clients * osses
    # Where processors are modelled an RPC's data may leave and arrive at once.
    events = (2 * rpcs + streams + plan.clients + layout.ost_count + 3 * oscs + rare + 16,)
    shapes: dict[str, tuple[int, ...]] = {
        "sim": (1,),
        "event": events,
        "following": events,
        "heap": events,
        "day": (DAYS,),
        "client": (plan.clients,),
        "osc": (oscs,),
        "file": (len(files),),
        "stream": (streams,),
        "extent": (
            _extents(plan, files[: scripted.files_before(placement)]) + _script_extents(plan, scripted),
        ),
        "rpc": (rpcs,),
        "oss": (osses,),
        "ost": (layout.ost_count,),
        "ssd": (-(-layout.ost_count // layout.osts_per_device),),
        "nic": (plan.clients + osses,),
        "link": (links,),
        "core": (plan.clients * plan.cluster.client.cores + osses * plan.cluster.server.cores,),
        "lru": (lru,),
        "op": (scripted.ops,),
        "handle": (scripted.handles,),
        "gate": (scripted.gates,),
        "lock": (max(locks, 1),),
        "fault": (len(faults),),
        "foreign": (len(faults), max((fault.depth for fault, _ in faults), default=1)),
        "credit": (links, plan.cluster.network.peer_credits),
        "rng": (streams + osses + len(faults) + plan.clients, 2),
        "page_state": (pages,),
        "page_extent": (max(written, 1),),
        "block": (sum((f.pages >> 6) + 1 for f in files),),
        "index2": (sum((f.pages >> 12) + 1 for f in files),),
        "index3": (sum((f.pages >> 18) + 1 for f in files),),
        "sums": (2 * oscs, SUM_COLUMNS),
        "pages_histogram": (2 * oscs, PAGES_BINS),
        "flight_histogram": (2 * oscs, FLIGHT_BINS),
        "trace": (1,),
    }
    world = World(shapes)
    world.block.extent[:] = NONE
    world.rng[:] = seeded(len(world.rng), plan.seed)
    return world


def _faults(plan: Plan) -> list[tuple[Fault, int]]:
    """Every fault with each OST it happens to."""
    layout = plan.cluster.layout
    for fault in plan.faults:
        if fault.kind == "evict" and fault.client >= plan.clients:
            raise UsageError(f"event 'evict': client={fault.client}: there are {plan.clients}")
    return [
        (fault, ost) for fault in plan.faults for ost in fault.osts(layout.ost_count, layout.osts_per_oss)
    ]


def _shared_groups(files: Sequence[PlacedFile]) -> dict[int, list[int]]:
    """The files of every shared object, by its home."""
    groups: dict[int, list[int]] = {}
    for number, file in enumerate(files):
        if file.shared:
            groups.setdefault(file.home, []).append(number)
    return groups


def _lock_room(clients: int) -> int:
    return 64 + 8 * clients


def _extents(plan: Plan, files: Sequence[PlacedFile]) -> int:
    """As many extents as grant can pay for, and as many reads as the largest call or window can queue."""
    lustre = plan.cluster.lustre
    most = max(lustre.grant_initial_bytes, lustre.grant_max_bytes)
    held = PAGE + int(lustre.extent_tax_kib * 1024)
    largest = max((job.workload.request_bytes for job in plan.jobs), default=0) // PAGE
    window = int(plan.cluster.client.read_ahead_mib * MIB) // PAGE
    each: dict[int, int] = {}
    for f in files:
        each[f.osc] = each.get(f.osc, 0) + (f.pages if f.written else 0)
    dirty = sum(min(pages, most // held + 1024) for pages in each.values())
    return dirty + len(files) * (2 * largest + 2 * window + 1024 + RPCS_PER_OSC)


def _script_extents(plan: Plan, scripted: ScriptLayout) -> int:
    """The same for scripts, whose many files share few streams: a stream reads ahead on a few at a time."""
    lustre = plan.cluster.lustre
    held = PAGE + int(lustre.extent_tax_kib * 1024)
    most = max(lustre.grant_initial_bytes, lustre.grant_max_bytes) // held + 1024
    window = int(plan.cluster.client.read_ahead_mib * MIB) // PAGE
    dirty: dict[tuple[int, int], int] = {}
    for wish in scripted.wishes:
        pages = -(-wish.file_bytes // PAGE) if wish.written else 0
        dirty[wish.client, wish.ost] = dirty.get((wish.client, wish.ost), 0) + pages
    written = sum(min(pages, most) for pages in dirty.values())
    return written + scripted.streams * (2 * scripted.largest_pages + READ_AHEADS * window + 2048)


def _lru_size(files: Sequence[PlacedFile], cluster: Cluster) -> int:
    """Runs of cached pages an OSC may have to remember: as many as pages fit, and dirty ones cannot go."""
    if not files:
        return 0
    lustre = cluster.lustre
    written = any(f.written for f in files)
    dirty = max(lustre.grant_initial_bytes, lustre.grant_max_bytes) // PAGE if written else 0
    return min(sum(f.pages for f in files), max(f.cached for f in files) * 5 // 4 + dirty) + 16


def _fill_files(w: World, placement: Placement, cluster: Cluster) -> None:
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
        "lock",
        "filling",
        "lock_head",
        "wanted_head",
        "wanted_tail",
        "touched_high",
    ]:
        w.file[name][:] = NONE
    w.file.dirtied_us[:] = -1.0
    state = extent = one = two = three = 0
    for i, f in enumerate(placement.files):
        w.file.home[i] = f.home
        w.file.osc[i], w.file.pages[i], w.file.state_base[i] = f.osc, f.pages, state
        w.file.block_base[i], w.file.index2_base[i], w.file.index3_base[i] = one, two, three
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
    _fill_lru(w, placement, cluster)
    _fill_objects(w, placement)


def _fill_objects(w: World, placement: Placement) -> None:
    """Which objects have locks, and where each lies on its device: evenly spread, in order."""
    w.file.touched_low[:] = w.file.pages
    for home, group in _shared_groups(placement.files).items():
        # One client alone is granted the whole object once; what it costs is not worth modelling.
        w.file.shared[group] = int(len(group) > 1)
        w.file.lock_room[home] = _lock_room(len(group))
    on_device: dict[int, list[int]] = {}
    for number, file in enumerate(placement.files):
        if file.home == number:
            on_device.setdefault(int(w.ost.ssd[w.osc.ost[file.osc]]), []).append(number)
    for device, objects in on_device.items():
        apart = int(w.ssd.capacity_pages[device]) // len(objects)
        w.file.disk_page[objects] = np.arange(len(objects)) * apart


def _join_ring(w: World, i: int, o: int) -> None:
    first = w.osc.first_file[o]
    if first == NONE:
        w.osc.first_file[o] = w.osc.cursor[o] = w.file.next_in_osc[i] = i
    else:
        w.file.next_in_osc[i] = w.file.next_in_osc[first]
        w.file.next_in_osc[first] = i


def _fill_lru(w: World, placement: Placement, cluster: Cluster) -> None:
    base = 0
    for o, files in sorted(placement.by_osc().items()):
        w.osc.lru_base[o] = base
        w.osc.lru_size[o] = _lru_size(files, cluster)
        base += w.osc.lru_size[o]


def _fill_streams(w: World, plan: Plan, placement: Placement) -> None:
    s = 0
    for job in plan.jobs:
        work = job.workload
        for _ in range(work.streams):
            f = placement.of_stream[s]
            w.stream.client[s], w.stream.file[s], w.stream.rng[s] = job.client, f, s
            w.stream.read_ratio[s] = work.read_ratio
            w.stream.sequential[s] = int(work.sequential)
            w.stream.request[s] = max(1, -(-work.request_bytes // PAGE))
            w.stream.call_bytes[s] = w.stream.request[s] * PAGE
            w.stream.think_us[s] = work.think_s * SECOND_US
            w.stream.active_us[s], w.stream.idle_us[s] = work.active_s * SECOND_US, work.idle_s * SECOND_US
            w.stream.start_us[s], w.stream.stop_us[s] = job.start_s * SECOND_US, job.stop_s * SECOND_US
            w.stream.phase_us[s] = job.start_s * SECOND_US
            w.stream.cache_pages[s] = max(1, work.cache_bytes // PAGE)
            w.stream.fsync_bytes[s], w.stream.close_bytes[s] = job.fsync_bytes, job.close_bytes
            w.stream.between[s] = OPENS | (ENDS if job.fsync_bytes or job.close_bytes else 0)
            w.stream.wait_page[s] = w.stream.active_ext[s] = NONE
            w.stream.lock[s] = w.stream.next_wanted[s] = NONE
            w.stream.next_in_file[s] = w.file.first_stream[f]
            w.file.first_stream[f] = s
            s += 1


def _chain_pools(w: World) -> None:
    w.rpc.next[:] = np.arange(1, w.rpc.shape[0] + 1)
    w.rpc.next[-1] = NONE
    w.rpc.osc[:] = NONE
    w.lock.next[:] = np.arange(1, w.lock.shape[0] + 1)
    w.lock.next[-1] = NONE
    w.sim.ext_free[0] = NONE
    w.sim.event_free[0] = NONE


def _fill_calendar(w: World, plan: Plan) -> None:
    w.day[:] = NONE
    large = w.stream.shape[0] >= STREAMS_FORESEEN
    w.sim.foresees[0] = int(large)
    # No day has begun yet; in a small world all of them have, so that everything is in the heap.
    w.sim.today[0] = NONE if large else LAST_DAY
    w.sim.foreseen[0] = NONE
    w.sim.traced[0] = int(plan.traced)
    for s in range(w.stream.shape[0]):
        schedule(w, w.stream.start_us[s], STREAM_RUNS, s)
    for c in range(plan.clients):
        schedule(w, w.client.flush_every_us[c], FLUSHER_RUNS, c)
    for t in range(w.ost.shape[0]):
        schedule(w, w.ost.journal_every_us[t], JOURNAL_COMMITS, t)
    _fill_faults(w, plan)


def _fill_faults(w: World, plan: Plan) -> None:
    first_rng = w.stream.shape[0] + w.oss.shape[0]
    for i, (fault, ost) in enumerate(_faults(plan)):
        pages = max(1, int(fault.request_kib * 1024) // PAGE)
        w.fault.kind[i], w.fault.ost[i], w.fault.client[i] = KINDS.index(fault.kind), ost, fault.client
        w.fault.begin_us[i] = fault.at_s * SECOND_US
        w.fault.end_us[i] = (fault.at_s + fault.for_s) * SECOND_US
        w.fault.factor[i], w.fault.depth[i] = fault.factor, fault.depth
        w.fault.pages[i], w.fault.writing[i] = pages, int(fault.writing)
        w.fault.gap_us[i] = pages * PAGE / max(fault.mbps, 1e-9)
        w.fault.rng[i] = first_rng + i
        schedule(w, w.fault.begin_us[i], FAULT_BEGINS, i)
        if fault.for_s > 0.0:
            schedule(w, w.fault.end_us[i], FAULT_ENDS, i)
