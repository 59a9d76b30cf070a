"""Scenario files: read, refused with a reason, and turned into a plan."""

from __future__ import annotations

import pytest

from penstock.errors import ConfigError, UsageError
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.placement import Wish, place
from penstock.simulate.scenario import parse_scenario, scenario_plan

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


def test_placement_gives_own_files_unless_they_are_shared() -> None:
    wishes = [
        Wish(c, c, 8192, 4096, written=True, shared=name)
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
        place([Wish(0, 9, 4096, 4096, written=False)], 8)
