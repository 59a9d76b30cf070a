"""Scenario files: read, refused with a reason, and turned into a plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.errors import ConfigError, UsageError
from penstock.simulate.assembly import Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.placement import FileWish, place
from penstock.simulate.scenario import parse_scenario, scenario_cluster, scenario_plan
from penstock.train.worlds import DescribedWorld
from penstock.units import GIB, MIB
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


ENDING = """
clients = 3
[[job]]
workload = { read_ratio = 0.0, request = "1m", streams = 2, file = "512m", cache = "4g" }
clients = [0, 1]
name = "database"
fsync_every = "64m"
close_every = "1g"
[[job]]
workload = { request = "64k" }
reads_of = "database"
"""


def planned(text: str) -> Plan:
    return scenario_plan(parse_scenario(text, "mine.toml"), builtin_cluster("c220g5"), 1, "mine.toml")


def test_jobs_that_fsync_close_and_read_what_others_write_become_a_plan() -> None:
    jobs = planned(ENDING).jobs
    assert [(job.fsync_bytes, job.close_bytes) for job in jobs] == [(64 * MIB, GIB)] * 2 + [(0, 0)] * 3
    # Every reader has a writer in turn, and never itself.
    assert [(job.client, job.reads_of) for job in jobs] == [(0, None), (1, None), (0, 1), (1, 0), (2, 0)]
    assert planned(ENDING.replace('reads_of = "database"', "reads_of = 0")).jobs == jobs


def test_reader_may_stand_before_the_job_it_reads() -> None:
    text = 'clients = 2\n[[job]]\nworkload = "s_rd_sq_1m"\nclients = [1]\nreads_of = 1\n'
    reader, writer = planned(text + '[[job]]\nworkload = "s_wr_sq_1m"\nclients = [0]\n').jobs
    assert (reader.reads_of, writer.reads_of) == (1, None)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ('reads_of = "database"', "reads_of = 7", "there is no job 7; the jobs are 0 to 1"),
        ('reads_of = "database"', "reads_of = -1", "there is no job -1"),
        ('reads_of = "database"', 'reads_of = "databse"', 'did you mean "database"?'),
        ('reads_of = "database"', 'reads_of = ""', "no job has the name ''"),
        ('reads_of = "database"', "reads_of = 1", "1 is the job itself"),
        ('reads_of = "database"', "reads_of = 0.5", "job.1.reads_of"),
        ('reads_of = "database"', 'fsync_every = "1m"', "job.fsync_every: the job only reads"),
        ('reads_of = "database"', "reads_of = 0\nosts = [1]", "job.osts"),
        ('reads_of = "database"', 'reads_of = 0\nshared = "mine"', "job.shared"),
        ('reads_of = "database"', 'reads_of = 0\nname = "database"', "the name of two jobs"),
        ('request = "64k" }', 'request = "64k", file = "1g" }', "job.workload.file"),
        ('request = "64k" }', 'request = "1g" }', "does not fit"),
        ('request = "64k" }', "read_ratio = 0.5 }", "the job writes itself"),
        ("read_ratio = 0.0", "read_ratio = 1.0", "job.fsync_every"),
        ('"64m"', "0", "job.0.fsync_every' (line 7): must be at least 1"),
        ('"64m"', '"-1m"', "fsync_every"),
        ('"64m"', '"64q"', "64q"),
        ('"1g"', "0", "job.0.close_every' (line 8): must be at least 1"),
        ("clients = [0, 1]", "clients = [0]", "client 0 would read its own files"),
        ('fsync_every = "64m"', 'fsync_evry = "64m"', "fsync_every"),
    ],
)
def test_bad_ending_is_refused_by_file_and_key(old: str, new: str, part: str) -> None:
    text = ENDING.replace(old, new)
    with pytest.raises(ConfigError, match=r"mine\.toml") as error:
        planned(text)
    assert part in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 5


def test_reader_of_a_job_that_writes_nothing_is_refused() -> None:
    text = ENDING.replace("read_ratio = 0.0", "read_ratio = 1.0").replace('fsync_every = "64m"\n', "")
    with pytest.raises(ConfigError, match="job 'database' writes nothing"):
        planned(text)


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
