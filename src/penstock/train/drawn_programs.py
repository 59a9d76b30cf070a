"""Random programs that fsync, close their files, or read what another client writes. See `penstock.train.draws`.

These draws have random numbers of their own: a world without such a program is what it would be without this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from penstock.train.drawn_hardware import between
from penstock.train.drawn_job import DrawnJob
from penstock.units import GIB, KIB, MIB

# The first client writes in three worlds of four, so that a tenth of all worlds have each kind of program.
OF_WRITING_WORLDS = 2 / 15
OF_ALL_WORLDS = 1 / 10


def draw_endings(rng: Random, jobs: Sequence[DrawnJob]) -> list[DrawnJob]:
    """Let a job of the first client call fsync, and one close its file, each in a share of the worlds."""
    found = list(jobs)
    writing = _writing(jobs)
    fsyncs, closes = rng.random() < OF_WRITING_WORLDS, rng.random() < OF_ALL_WORLDS
    if writing and fsyncs:
        chosen = rng.choice(writing)
        found[chosen] = replace(found[chosen], fsync_every=_every(rng, found[chosen], MIB, GIB))
    if closes:
        chosen = rng.choice([number for number, job in enumerate(jobs) if job.client == 0])
        found[chosen] = replace(found[chosen], close_every=_every(rng, found[chosen], 4 * MIB, 4 * GIB))
    return found


def draw_reader(rng: Random, jobs: Sequence[DrawnJob], client: int) -> DrawnJob | None:
    """A job on another client that reads what a job of the first client writes, in a share of the worlds."""
    writing = _writing(jobs)
    if rng.random() >= OF_WRITING_WORLDS or not writing:
        return None
    chosen = rng.choice(writing)
    source = jobs[chosen]
    manner = rng.choice(("steady", "thinking", "bursty"))
    return DrawnJob(
        read_ratio=1.0,
        random=rng.random() < 0.5,
        request=min((4 << rng.randint(0, 12)) * KIB, source.file),
        streams=rng.randint(1, source.streams),
        file=source.file,
        cache=0,
        think_s=between(rng, 0.01, 1.0) if manner == "thinking" else 0.0,
        active_s=round(rng.uniform(1, 5), 1) if manner == "bursty" else 0.0,
        idle_s=round(rng.uniform(2, 20), 1) if manner == "bursty" else 0.0,
        osts=source.osts,
        client=client,
        reads_of=chosen,
    )


def _writing(jobs: Sequence[DrawnJob]) -> list[int]:
    return [number for number, job in enumerate(jobs) if job.client == 0 and job.writes]


def _every(rng: Random, job: DrawnJob, low: int, high: int) -> int:
    """Bytes of each stream, of a volume that the job's streams move together; at least one request."""
    share = between(rng, low, high) / job.streams
    return max(job.request, round(share / KIB) * KIB)
