"""Fixed work: the same volume for everybody, the time it takes, reading and writing apart."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.evaluate.applications import apart, course_of, plan_of
from penstock.evaluate.drivers import Course
from penstock.evaluate.request import Request
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.evaluate.trial import Measured, Trial, dump, load, perform
from penstock.knobs import Setting
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.kernel.scripted import MEET
from penstock.simulate.script import with_an_end

CLUSTER = builtin_cluster("c220g5")
SMALL = "vpic-1d:particles=262144,steps=2"


def work(name: str, rounds: float, setting: Setting | None = None, limit_s: float = 200.0) -> Measured:
    plan = named_plan(CLUSTER, name, 1, 1)
    (script,) = plan.scripts
    ended = with_an_end(script, rounds)
    course = Course(limit_s, 0.0, setting, until_done=True)
    return perform(Trial(type(plan)(CLUSTER, (), 1, 1, scripts=(ended,)), course))


def moved(run: Measured) -> float:
    return sum(run.series) * INTERVAL_S


def test_slow_setting_moves_the_same_volume_in_more_time() -> None:
    usual, slow = work("bdcats-full", 0.05), work("bdcats-full", 0.05, Setting(pages=1, flight=1))
    assert usual.done_s is not None
    assert slow.done_s is not None
    assert slow.done_s > 1.5 * usual.done_s
    assert moved(slow) == pytest.approx(moved(usual), rel=1e-3)
    assert usual.work_mbps / slow.work_mbps == pytest.approx(slow.done_s / usual.done_s, rel=1e-3)


def test_work_is_done_when_all_that_was_written_is_on_the_servers() -> None:
    run = work(SMALL, 0.02)
    assert run.done_s is not None
    on_the_wire = run.wire[1] * len(run.series) * INTERVAL_S
    assert on_the_wire == pytest.approx(moved(run), rel=0.01)


def test_work_stops_after_whole_steps_and_at_least_one() -> None:
    (script,) = named_plan(CLUSTER, SMALL, 1, 1).scripts
    steps = int((script.tasks[0].ops["kind"] == MEET).sum())
    for rounds, expected in ((1e-9, 1), (0.5, steps // 2), (1.5, steps + steps // 2)):
        ended = with_an_end(script, rounds)
        assert {int((task.ops["kind"] == MEET).sum()) for task in ended.tasks} == {expected}
        assert not any(task.repeats for task in ended.tasks)


def test_readers_that_feed_a_trainer_have_no_end_of_their_own() -> None:
    (script,) = named_plan(CLUSTER, "dlio-bert:threads=3", 1, 1).scripts
    assert [task.repeats for task in with_an_end(script, 2).tasks] == [True, True, True, False]


def test_work_that_is_given_up_has_no_end() -> None:
    run = work("bdcats-full", 1, limit_s=1.0)
    assert run.done_s is None
    assert run.work_mbps == run.app_mbps
    assert apart(run).total_s == pytest.approx(1.0)


def test_times_of_reading_and_writing_add_up_and_survive_storing() -> None:
    run = work("dlio-bert:files=8,samples=30000,every=2000,model=512m,threads=2,osts=2", 2)
    spent = apart(run)
    assert spent.read_s + spent.write_s == pytest.approx(spent.total_s) == pytest.approx(run.done_s)
    # A checkpoint of 512 MiB on two OSTs of one device of 282 MB/s.
    assert spent.write_s > 2 * 512 * 1.048 / 300
    assert spent.read_s > 0
    assert load(json.loads(json.dumps(dump(run)))) == run


def test_strided_read_is_neither_the_full_nor_the_partial_one() -> None:
    calls = {}
    for kind in ("full", "partial", "strided"):
        (script,) = named_plan(CLUSTER, f"bdcats-{kind}:steps=1", 1, 1).scripts
        calls[kind] = np.concatenate([task.ops for task in script.tasks])
    read = {kind: int(ops["bytes"].sum()) for kind, ops in calls.items()}
    # Of 16 MiB: 4 MiB at the beginning of the first stride, the wanted block of the second.
    assert read["strided"] * 16 == read["full"] * 5
    assert read["strided"] < read["partial"]


def test_command_reports_times_of_the_same_work(tmp_path: Path) -> None:
    words = ("--only", "bdcats-strided", "--policy", "climb", "--seconds", "1", "--workers", "1")
    result = CliRunner().invoke(
        cli, ["evaluate", "applications", *words, "--cache-dir", str(tmp_path), "--json"]
    )
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)["rows"]
    times = row["times"]
    assert set(times) == {"default", "best-static", "climb"}
    assert all(each["done"] for each in times.values())
    assert row["speedup"] == pytest.approx(times["default"]["seconds"] / times["climb"]["seconds"])
    assert times["best-static"]["seconds"] <= 1.02 * times["default"]["seconds"]


def test_amount_of_work_follows_the_seconds_asked_for() -> None:
    amounts = []
    for seconds in (30.0, 60.0):
        request = Request(("default",), seconds, cluster=CLUSTER)
        plan = plan_of(request, "vpic-3d", 1)
        amounts.append(sum(int(task.ops["bytes"].sum()) for task in plan.scripts[0].tasks))
        assert course_of(request).seconds == 20 * seconds
    assert amounts[1] == 2 * amounts[0]
