"""Random worlds: repeatable, valid, of the families they name, and every family occurs."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.errors import UsageError
from penstock.train.drawn_job import DrawnJob
from penstock.train.draws import FAMILIES, draw_world, draw_worlds
from penstock.train.worlds import load_world
from penstock.units import GIB, KIB

DRAWN = [draw_world(1, number) for number in range(120)]


def test_every_draw_is_a_valid_scenario_that_can_be_run_alone(tmp_path: Path) -> None:
    for world in DRAWN[:40]:
        file = tmp_path / f"{world.name}.toml"
        file.write_text(world.text)
        assert load_world(file).plan(3) == world.plan(3)


def test_draws_repeat_and_do_not_depend_on_each_other() -> None:
    assert draw_world(1, 17) == DRAWN[17]
    assert len({world.text for world in DRAWN}) == len(DRAWN)
    assert draw_world(2, 17).text != DRAWN[17].text


def test_every_family_occurs_and_no_other() -> None:
    assert {family for world in DRAWN for family in world.families} == set(FAMILIES)


def test_hardware_stays_within_what_is_documented() -> None:
    for world in DRAWN:
        cluster = world.plan(0).cluster
        assert 50 <= cluster.network.round_trip_us <= 10_000
        assert 120 <= cluster.network.client_mb_per_s <= 24_000
        assert ("far" in world.families) == (cluster.network.round_trip_us >= 2000)
        assert ("disk" in world.families) == (cluster.device.rotation_ms > 0)
        assert 8 <= cluster.server.threads <= 512
        assert ("slow-core" in world.families) == (cluster.client.cores in (1, 2))
        assert ("slow-server" in world.families) == (cluster.server.cores in (1, 2))


def test_work_and_company_are_what_the_families_say() -> None:
    for world in DRAWN:
        plan = world.plan(0)
        works = [job.workload for job in plan.jobs]
        assert all(4 * KIB <= work.request_bytes <= 16 * KIB * KIB for work in works)
        assert all(1 <= work.streams <= 16 for work in works)
        assert ("company" in world.families) == (plan.clients > 1)
        assert ("bursty" in world.families) == any(work.idle_s > 0 for work in works)
        assert ("mixed" in world.families) == any(0 < work.read_ratio < 1 for work in works)


@pytest.mark.parametrize(
    ("random", "read_ratio", "file", "osts", "rewrites"),
    [
        (True, 0.0, GIB, (0,), True),
        (True, 0.5, 3 * GIB, (0,), False),
        (False, 0.0, GIB, (0,), False),
        (False, 0.0, GIB, (0, 1), True),
        (False, 0.5, GIB // 2, (0,), True),
        (False, 1.0, GIB // 2, (0,), False),
    ],
)
def test_rewriting_is_what_changes_pages_before_they_are_sent(
    random: bool, read_ratio: float, file: int, osts: tuple[int, ...], rewrites: bool
) -> None:
    """Two files each, in a cache of 4 GiB; 1.5 GiB may be dirty on a target."""
    job = DrawnJob(read_ratio, random, 64 * KIB, 2, file, 4 * GIB, 0.0, 0.0, 0.0, osts, 0)
    assert job.rewrites(1.5 * GIB) == rewrites
    assert replace(job, fsync_every=file).rewrites(1.5 * GIB) == rewrites
    assert not replace(job, fsync_every=file // 2).rewrites(1.5 * GIB), (
        "an fsync sends pages before they change"
    )


PROGRAMS = ("fsyncs", "closes", "read-elsewhere")


def test_each_kind_of_program_is_in_about_a_tenth_of_the_worlds() -> None:
    drawn = [draw_world(2, number) for number in range(600)]
    for family in PROGRAMS:
        assert 36 <= sum(family in world.families for world in drawn) <= 90


def test_programs_are_what_the_families_say() -> None:
    found = [world for world in DRAWN if set(PROGRAMS) & set(world.families)]
    assert len(found) < len(DRAWN) / 2
    for world in found:
        plan = world.plan(0)
        fsyncs = [job for job in plan.jobs if job.fsync_bytes]
        closes = [job for job in plan.jobs if job.close_bytes]
        readers = [job for job in plan.jobs if job.reads_of is not None]
        assert (bool(fsyncs), bool(closes), bool(readers)) == tuple(
            name in world.families for name in PROGRAMS
        )
        for job in (*fsyncs, *closes):
            assert job.client == 0
            assert max(job.fsync_bytes, job.close_bytes) >= job.workload.request_bytes
        assert all(job.workload.read_ratio < 1.0 for job in fsyncs)
        for job in readers:
            source = plan.jobs[job.reads_of or 0]
            assert source.client == 0 < job.client == plan.clients - 1
            assert source.workload.read_ratio < 1.0 == job.workload.read_ratio
            assert job.workload.request_bytes <= source.workload.file_bytes


def test_worlds_without_such_programs_are_those_of_the_other_draws() -> None:
    """Programs have random numbers of their own, so that work and hardware of all worlds are drawn as before."""
    world = draw_world(1, 17)
    assert not set(PROGRAMS) & set(world.families)
    assert hashlib.sha256(world.text.encode()).hexdigest()[:16] == "2f753d8df94e3451"


def test_families_can_be_asked_for_and_left_out() -> None:
    found = list(itertools.islice(draw_worlds(1, 5, ["far"], ["disk", "company"]), 5))
    assert len(found) == 5
    assert all("far" in world.families and not {"disk", "company"} & set(world.families) for world in found)
    with pytest.raises(UsageError, match="far"):
        list(draw_worlds(1, 1, ["far"], ["far"]))


def test_jobs_of_a_world_know_their_places_in_the_plan() -> None:
    world = next(world for world in DRAWN if "company" in world.families)
    numbers = [number for job in world.jobs() for number in job]
    assert numbers == list(range(len(world.plan(0).jobs)))
