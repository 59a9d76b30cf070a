"""Workloads as data: mixed directions, rest, think time, sequences, several streams."""

from __future__ import annotations

import pytest

from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.simulation import Simulation
from penstock.workload import NAMES, parse_workload

from .conftest import Lab


@pytest.mark.parametrize("name", NAMES)
def test_every_named_workload_moves_data(lab: Lab, name: str) -> None:
    made = lab.simulation(name, Setting(pages=256, flight=8))
    made.run_until(0.3)
    assert made.totals().app_bytes > 0


def test_five_streams_use_five_osts(lab: Lab) -> None:
    made = lab.simulation("f_rd_sq_1m")
    made.run_until(0.3)
    assert [int(pages) > 0 for pages in made.world.sums[0::2, 0]] == [True] * 5 + [False] * 3


def test_two_osts_of_a_server_share_its_device(lab: Lab) -> None:
    one = lab.mbps("s_rd_sq_1m", Setting(pages=256, flight=8))
    five = lab.mbps("f_rd_sq_1m", Setting(pages=256, flight=8))
    assert 2.2 * one < five <= 3.1 * one


def test_mixed_workload_reads_and_writes(lab: Lab) -> None:
    made = lab.simulation(lab.workload("s_rd_rn_1m", read_ratio=0.5, cache_bytes=90 << 30))
    made.run_until(3.0)
    calls = int(made.world.client.read_calls[0]), int(made.world.client.write_calls[0])
    assert min(calls) > 0.7 * max(calls)


def test_think_time_and_rest_slow_a_stream_down(lab: Lab) -> None:
    busy = lab.mbps("s_rd_rn_8k")
    thinking = lab.mbps(lab.workload("s_rd_rn_8k", think_s=0.002))
    resting = lab.mbps(lab.workload("s_rd_rn_8k", active_s=0.25, idle_s=0.25))
    assert thinking < 0.4 * busy
    assert resting == pytest.approx(0.5 * busy, rel=0.1)


def test_jobs_follow_each_other() -> None:
    first, second = parse_workload("s_rd_sq_1m"), parse_workload("s_wr_sq_1m")
    jobs = (Job(first, stop_s=0.5), Job(second, start_s=0.5))
    made = Simulation(Plan(builtin_cluster("c220g5"), jobs, 1, 1))
    made.run_until(0.5)
    assert made.world.client.write_bytes[0] == 0
    read = int(made.world.client.read_bytes[0])
    made.run_until(1.0)
    assert made.world.client.write_bytes[0] > 0
    assert made.world.client.read_bytes[0] - read <= 1 << 20


def test_random_reads_of_a_file_ten_times_the_cache_rarely_hit(lab: Lab) -> None:
    totals = lab.measure("s_rd_rn_1m", Setting(pages=64, flight=8), seconds=10, warmup_s=15)
    hits = 1 - totals.rpc_bytes / totals.app_bytes
    assert 0.05 < hits < 0.11


def test_reader_takes_its_cache_from_what_a_writer_no_longer_needs() -> None:
    reader = Job(parse_workload("s_rd_sq_8k"), osts=(2,))
    writer = Job(parse_workload("s_wr_sq_8k"), osts=(0,))
    pages = []
    for jobs in ((reader,), (writer, reader)):
        made = Simulation(Plan(builtin_cluster("c220g5"), jobs, 1, 3))
        made.run_until(6.0)
        pages.append(int(made.world.sums[2 * 2, 0]))
    assert pages[1] > 0.9 * pages[0]
