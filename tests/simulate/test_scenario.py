"""Scenario files: read, refused with a reason, and turned into a plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.errors import ConfigError, UsageError
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.placement import FileWish, place
from penstock.simulate.scenario import parse_scenario, scenario_cluster, scenario_plan
from penstock.train.worlds import DescribedWorld
from penstock.workload import parse_workload

TEXT = """
clients = 3
events = ["slow:ost=0:at=10:for=20:factor=5"]
[[job]]
workload = "s_wr_sq_1m"
shared = "checkpoint"
osts = [4]
[[job]]
workload = "s_rd_rn_8k"
clients = [2]
start_s = 2.0
stop_s = 4.0
"""


def test_scenario_becomes_a_plan() -> None:
    plan = scenario_plan(parse_scenario(TEXT, "mine.toml"), builtin_cluster("c220g5"), 7, "mine.toml")
    assert (plan.clients, plan.seed, plan.faults[0].factor) == (3, 7, 5.0)
    assert [job.client for job in plan.jobs] == [0, 1, 2, 2]
    assert (plan.jobs[0].shared, plan.jobs[0].osts) == ("checkpoint", (4,))
    assert (plan.jobs[3].start_s, plan.jobs[3].stop_s) == (2.0, 4.0)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("clients = [2]", "clients = [3]", "job.clients"),
        ("stop_s = 4.0", "stop_s = 1.0", "stop_s"),
        ("s_rd_rn_8k", "s_rd_rn_8q", "s_rd_rn_8k"),
        ("factor=5", "factor=0.5", "factor"),
        ("shared =", "sharde =", "shared"),
        ("osts = [4]", "osts = [-4]", "osts"),
        ("clients = 3\n", "clients = 0\n", "clients"),
    ],
)
def test_bad_scenario_is_refused_by_file_and_key(old: str, new: str, part: str) -> None:
    with pytest.raises(ConfigError, match=r"mine\.toml") as error:
        text = TEXT.replace(old, new)
        scenario_plan(parse_scenario(text, "mine.toml"), builtin_cluster("c220g5"), 1, "mine.toml")
    assert part in str(error.value)


TABLES = """
[set]
round_trip_us = 5000
threads = 12
client.cores = 2
[[job]]
workload = { read_ratio = 0.5, access = "random", request = "1m", streams = 3, file = "3g", cache = "20g" }
[[job]]
workload = { think_s = 0.5, active_s = 2, idle_s = "1m" }
[[job]]
workload = "s_wr_sq_1m"
"""


def test_workload_tables_and_parameters_are_as_described() -> None:
    scenario = parse_scenario(TABLES, "mine.toml")
    cluster = scenario_cluster(scenario, builtin_cluster(scenario.cluster), "mine.toml")
    assert (cluster.network.round_trip_us, cluster.server.threads, cluster.client.cores) == (5000.0, 12, 2)
    mixed, usual, named = (job.workload for job in scenario_plan(scenario, cluster, 1, "mine.toml").jobs)
    assert (mixed.read_ratio, mixed.sequential, mixed.streams, mixed.file_bytes) == (0.5, False, 3, 3 << 30)
    assert replace(usual, name="s_rd_sq_1m") == replace(
        parse_workload("s_rd_sq_1m"), think_s=0.5, active_s=2.0, idle_s=60.0, cache_bytes=20 << 30
    )
    # The page cache is the client's: who names none has the one that is named.
    assert named.cache_bytes == 20 << 30


def test_client_whose_jobs_name_no_cache_has_the_largest_they_imply() -> None:
    text = '[[job]]\nworkload = "s_rd_sq_1m"\n[[job]]\nworkload = "s_wr_sq_1m"\n'
    plan = scenario_plan(parse_scenario(text, "mine.toml"), builtin_cluster("c220g5"), 1, "mine.toml")
    assert {job.workload.cache_bytes for job in plan.jobs} == {90 << 30}


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("read_ratio", "read_rati", "read_ratio"),
        ("0.5, access", "1.5, access", "read_ratio"),
        ('"random"', '"rnd"', "access"),
        ('"3g"', '"3q"', "3q"),
        ('"3g"', '"512k"', "does not fit"),
        ("active_s = 2, ", "", "idle_s"),
        ("active_s = 2, ", 'active_s = 2, cache = "1g", ', "one page cache"),
        ("round_trip_us", "round_trp_us", "round_trip_us"),
        ("threads = 12", "threads = -1", "threads"),
        ("[set]", 'cluster = "c220g6"\n[set]', "c220g5"),
    ],
)
def test_bad_table_is_refused_by_file_and_key(old: str, new: str, part: str) -> None:
    with pytest.raises(ConfigError, match=r"mine\.toml") as error:
        DescribedWorld("mine", TABLES.replace(old, new)).plan(1)
    assert part in str(error.value)


def test_placement_gives_own_files_unless_they_are_shared() -> None:
    wishes = [
        FileWish(c, c, 8192, 4096, written=True, shared=name)
        for c, name in ((0, ""), (1, "a"), (0, "a"), (1, "a"))
    ]
    found = place(wishes, 4)
    assert found.of_stream == (0, 1, 2, 1)
    assert [(file.osc, file.home, file.shared) for file in found.files] == [
        (0, 0, False),
        (5, 1, True),
        (1, 1, True),
    ]
    assert {osc: len(files) for osc, files in found.by_osc().items()} == {0: 1, 5: 1, 1: 1}


def test_placement_refuses_an_ost_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="OST 9"):
        place([FileWish(0, 9, 4096, 4096, written=False)], 8)
