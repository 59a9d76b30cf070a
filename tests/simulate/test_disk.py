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


def test_elevator_serves_a_crowd_all_over_the_disk_faster_than_in_order_of_arrival(lab: Lab) -> None:
    in_order_per_s = 1000 / (8.5 + 8.33 / 2)
    assert total(lab, "s_rd_rn_8k", 16) * 1e6 / 8192 > 1.25 * in_order_per_s


def test_interleaved_sequential_readers_share_the_platters_rate_less_some_seeks(lab: Lab) -> None:
    one, four = (total(lab, "s_rd_sq_1m", clients) for clients in (1, 4))
    assert 0.4 * one < four < 1.05 * one


def test_nobody_starves_behind_a_sequential_stream(lab: Lab) -> None:
    jobs = [Job(parse_workload("s_rd_sq_1m"), 0), Job(parse_workload("s_rd_rn_8k"), 1)]
    made = lab.cluster(jobs, BASE, DISK)
    each = lab.each(made, seconds=4.0, warmup_s=1.0)
    assert each[1].app_bytes >= 4 * 8192
    assert each[0].app_bytes > 100e6
