"""Spinning disks: fast in a row, slow elsewhere, better the more they may choose from."""

from __future__ import annotations

import pytest

from penstock.knobs import Setting
from penstock.simulate.assembly import Job
from penstock.workload import parse_workload

from .conftest import Lab

# A 7,200 rpm nearline drive.
DISK = {
    "rotation_ms": "8.33",
    "seek_ms": "8.5",
    "seek_track_ms": "0.8",
    "capacity_gb": "4000",
    "read_us_per_page": "20.5",
    "write_us_per_page": "20.5",
}
BASE = Setting(pages=256, flight=8)


def total(lab: Lab, workload: str, clients: int, setting: Setting = BASE) -> float:
    jobs = [Job(parse_workload(workload), client) for client in range(clients)]
    made = lab.cluster(jobs, setting, DISK)
    return sum(one.app_bytes for one in lab.each(made, seconds=5.0, warmup_s=2.0)) / 5e6


def test_one_sequential_reader_gets_the_platters_rate(lab: Lab) -> None:
    assert total(lab, "s_rd_sq_1m", 1) == pytest.approx(200, rel=0.1)


def test_one_random_reader_pays_seek_and_half_a_turn(lab: Lab) -> None:
    calls_per_s = total(lab, "s_rd_rn_8k", 1) * 1e6 / 8192
    assert 60 < calls_per_s < 250


def test_elevator_serves_a_crowd_of_random_readers_faster_than_one(lab: Lab) -> None:
    assert total(lab, "s_rd_rn_8k", 16) > 1.2 * total(lab, "s_rd_rn_8k", 1)


def test_interleaved_sequential_readers_lose_to_seeks_less_with_larger_rpcs(lab: Lab) -> None:
    small, large = (total(lab, "s_rd_sq_1m", 4, Setting(pages=p, flight=4)) for p in (16, 1024))
    assert large > 1.5 * small
    assert large < total(lab, "s_rd_sq_1m", 1)


def test_nobody_starves_behind_a_sequential_stream(lab: Lab) -> None:
    jobs = [Job(parse_workload("s_rd_sq_1m"), 0), Job(parse_workload("s_rd_rn_8k"), 1)]
    made = lab.cluster(jobs, BASE, DISK)
    each = lab.each(made, seconds=4.0, warmup_s=1.0)
    assert each[1].app_bytes >= 4 * 8192
    assert each[0].app_bytes > 100e6
