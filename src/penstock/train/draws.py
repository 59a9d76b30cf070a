"""Random worlds: hardware, work and company drawn from one distribution, each draw a scenario that can be run alone.

World `number` of `seed` is always the same text; no draw depends on another. Ranges are log-uniform unless said
otherwise.

hardware  round trip .05-10 ms; 1-200 Gbit/s, clients and servers apart; a disk, RAID of disks, SATA SSD, NVMe or
          memory behind every one or two of 1-8 OSTs; client CPU .4-2.5 times as slow as c220g5's, in one world of
          eight 4-12 times on one or two cores that all work takes turns on; server CPU likewise .5-2 and 4-12 times;
          8-512 server threads; 8-64 peer credits; reads acknowledged or not; from 2 ms on a TCP window of 2-16 MiB or
          none that counts; grant given at once or as it is used; 16-384 GB of memory. One world of six is c220g5 or
          c6525-25g as it is.
work      1-3 jobs on the first client: reads (35 %), writes (30 %) or 10-90 % reads; random or sequential;
          requests of 4 KiB-16 MiB; 1-16 streams; files of 256 MiB-10 GiB a stream, at most 32 GiB a client; a page
          cache that holds what may be dirty and read ahead at least, 90 GiB or half of the memory at most, nine
          times of ten no more than half of the files that are read; in one job of five a pause of .1-50 ms after
          each request, in one of six rests of 1-20 s after 2-20 s of work; files on one OST or on up to all.
company   in one world of three 1-7 other clients with jobs of their own on the same OSTs.
programs  in a tenth of the worlds a job of the first client that writes calls fsync whenever its streams wrote
          1 MiB-1 GiB together; in a tenth a job of the first client closes and opens its files whenever they moved
          4 MiB-4 GiB; in a tenth one client more reads the files that a job of the first client writes, in order or
          at random, requests of 4 KiB-16 MiB, at most as many streams as that job has: without pause, with one of
          10 ms-1 s after each request, or with rests of 2-20 s after 1-5 s of work. Each tenth is drawn by itself,
          with random numbers of its own: the other worlds are what they were before there were such programs.

Families name what is special about a world, so that whole families can be left out of training.
Hardware: `disk`, `ssd`, `nvme`, `memory`, `testbed` (a built-in cluster), `far` (2 ms or more), `slow-link` (at most
2.5 Gbit/s), `fast-link` (50 or more), `slow-core`, `slow-server`, `few-threads` (at most 32).
Work: `reads`, `writes`, `mixed` (a job does both), `small` (a job's requests are at most 32 KiB), `large` (4 MiB or
more), `many-streams` (8 or more in one job), `thinking`, `bursty`, `striped` (one job on several OSTs), `rewriting`
(pages change again before they are sent: a job writes at random to files that fit the page cache together, or in
order, again and again, to files that together fit what may be dirty on their target, and calls no fsync before it has
written as much as its file holds), `several-jobs`, `fsyncs`, `closes`.
Company: `company` (there are other clients), `read-elsewhere` (one reads what the first writes).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from penstock.errors import UsageError
from penstock.train.drawn_hardware import DrawnHardware, between, draw_hardware
from penstock.train.drawn_job import DrawnJob, number_text
from penstock.train.drawn_programs import draw_endings, draw_reader
from penstock.train.worlds import DescribedWorld, name_of_draw
from penstock.units import GIB, KIB, MIB

FAMILIES = (
    "disk", "ssd", "nvme", "memory", "testbed", "far", "slow-link", "fast-link", "slow-core", "slow-server",
    "few-threads", "reads", "writes", "mixed", "small", "large", "many-streams", "thinking", "bursty", "striped",
    "rewriting", "several-jobs", "company", "fsyncs", "closes", "read-elsewhere",
)  # fmt: skip
FILES_GIB = 32.0
MOST_TRIES = 5000
# The limit for all files of a scenario. Larger page tables would not fit beside other simulations.
ALL_FILES_GIB = 64.0
# The default of max_dirty_mb; an eighth of memory where that is less.
MOST_DIRTY_BYTES = 2000 * MIB


def draw_world(seed: int, number: int) -> DescribedWorld:
    """World `number` of a seed."""
    rng = Random(f"world/{seed}/{number}")
    hardware = draw_hardware(rng)
    clients = rng.randint(2, 8) if rng.random() < 1 / 3 else 1
    jobs = draw_endings(Random(f"endings/{seed}/{number}"), _jobs(rng, hardware, clients))
    rng = Random(f"reader/{seed}/{number}")
    reader = draw_reader(rng, jobs, clients)
    if reader is not None:
        jobs.append(replace(reader, cache=_cache(rng, hardware, [reader])))
        clients += 1
    dirty_bytes = min(MOST_DIRTY_BYTES, hardware.ram_gb * GIB / 8)
    families = (*hardware.families, *_families_of(jobs, dirty_bytes))
    return DescribedWorld(name_of_draw(seed, number), _text(hardware, clients, jobs, families), families)


def drawn_world(name: str) -> DescribedWorld:
    """The world that was drawn under this name.

    >>> drawn_world("world-3-14").name
    'world-3-14'
    """
    _, seed, number = name.rsplit("-", 2)
    return draw_world(int(seed), int(number))


def draw_worlds(
    seed: int, count: int, families: Sequence[str] = (), without: Sequence[str] = ()
) -> Iterator[DescribedWorld]:
    """The first `count` worlds of a seed that belong to all given families and to none of those left out."""
    if set(families) & set(without):
        raise UsageError(f"family {min(set(families) & set(without))} is both asked for and left out")
    kept = 0
    for number in itertools.count():
        if kept == count:
            return
        if number > MOST_TRIES * (kept + 1):
            raise UsageError(f"hardly any world is of {', '.join(families)} without {', '.join(without)}")
        world = draw_world(seed, number)
        if set(families) <= set(world.families) and not set(world.families) & set(without):
            kept += 1
            yield world


def _jobs(rng: Random, hardware: DrawnHardware, clients: int) -> list[DrawnJob]:
    found: list[DrawnJob] = []
    first = rng.sample(range(hardware.osts), hardware.osts)
    for client in range(clients):
        count = rng.choices((1, 2, 3), (6, 3, 1))[0] if client == 0 else 1
        room_gib = min(FILES_GIB, ALL_FILES_GIB / clients) / count
        jobs = [_job(rng, client, room_gib, first) for _ in range(count)]
        cache = _cache(rng, hardware, jobs)
        found += [replace(job, cache=cache) for job in jobs]
    return found


def _cache(rng: Random, hardware: DrawnHardware, jobs: Sequence[DrawnJob]) -> int:
    """A client's page cache in bytes.

    It holds what may be dirty and, nine times of ten, not everything that is read.
    """
    writing = {ost for job in jobs if job.read_ratio < 1.0 for ost in job.osts}
    streams = sum(job.streams for job in jobs)
    least_mib = 2500 * len(writing) + 96 * streams + 512
    most_mib = max(least_mib, min(90.0, hardware.ram_gb / 2) * 1024)
    cache_mib = between(rng, least_mib, most_mib)
    read_mib = min((job.streams * job.file // MIB for job in jobs if job.read_ratio > 0.0), default=None)
    if read_mib is not None and rng.random() < 0.9:
        cache_mib = max(least_mib, min(cache_mib, read_mib / 2))
    return round(cache_mib) * MIB


def _job(rng: Random, client: int, room_gib: float, first: Sequence[int]) -> DrawnJob:
    kind = rng.choices(("read", "write", "mixed"), (35, 30, 35))[0]
    ratio = {"read": 1.0, "write": 0.0, "mixed": round(rng.uniform(0.1, 0.9), 2)}[kind]
    streams = rng.choice((1, 1, 2, 3, 4, 6, 8, 12, 16))
    request = (4 << rng.randint(0, 12)) * KIB
    file_mib = min(between(rng, 256, 10 * 1024), room_gib * 1024 / streams)
    think_s = between(rng, 1e-4, 0.05) if rng.random() < 0.2 else 0.0
    bursty = rng.random() < 1 / 6
    active_s, idle_s = round(rng.uniform(2, 20), 1), round(rng.uniform(1, 20), 1)
    # The files of all clients begin on the same few OSTs, so that clients share OSTs.
    width = rng.choice((1, 1, 1, 2, 4, len(first)))
    return DrawnJob(
        read_ratio=ratio,
        random=rng.random() < 0.5,
        request=request,
        streams=streams,
        file=max(request, int(file_mib) * MIB),
        cache=0,
        think_s=think_s,
        active_s=active_s if bursty else 0.0,
        idle_s=idle_s if bursty else 0.0,
        osts=tuple(first[: min(width, len(first))]),
        client=client,
    )


def _families_of(jobs: Sequence[DrawnJob], dirty_bytes: float) -> list[str]:
    signs = {
        "reads": any(job.read_ratio == 1.0 for job in jobs),
        "writes": any(job.read_ratio == 0.0 for job in jobs),
        "mixed": any(0.0 < job.read_ratio < 1.0 for job in jobs),
        "small": any(job.request <= 32 * KIB for job in jobs),
        "large": any(job.request >= 4 * MIB for job in jobs),
        "many-streams": any(job.streams >= 8 for job in jobs),
        "thinking": any(job.think_s > 0.0 for job in jobs),
        "bursty": any(job.active_s > 0.0 for job in jobs),
        "striped": any(len(job.osts) > 1 and job.streams > 1 for job in jobs),
        "rewriting": any(job.rewrites(dirty_bytes) for job in jobs),
        "several-jobs": sum(job.client == 0 for job in jobs) > 1,
        "company": any(job.client > 0 for job in jobs),
        "fsyncs": any(job.fsync_every for job in jobs),
        "closes": any(job.close_every for job in jobs),
        "read-elsewhere": any(job.reads_of is not None for job in jobs),
    }
    return [family for family, holds in signs.items() if holds]


def _text(hardware: DrawnHardware, clients: int, jobs: Sequence[DrawnJob], families: Sequence[str]) -> str:
    lines = [
        f"# {', '.join(families)}",
        f'cluster = "{hardware.cluster}"',
        f"clients = {clients}",
    ]
    if hardware.changes:
        lines += ["", "[set]"]
        lines += [f"{key} = {number_text(value)}" for key, value in hardware.changes.items()]
    for job in jobs:
        lines += ["", "[[job]]", *job.lines()]
    return "\n".join(lines) + "\n"
