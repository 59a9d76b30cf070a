"""Shards: each is done once, results are kept as they come, and a failure is told as the error that it was."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from penstock.campaign.engines import LocalEngine, local_engine
from penstock.campaign.jsonlines import append_line, read_lines
from penstock.campaign.shards import Kept, ShardFailedError, in_order, no_tick, run_shards, unfinished
from penstock.errors import DataError

TASKS = {str(number): number for number in range(7)}


class Numbers(Kept[int, int]):
    """Results in memory."""

    def __init__(self) -> None:
        self.results: dict[str, int] = {}

    def finished(self, shards: Mapping[str, int]) -> set[str]:
        return shards.keys() & self.results.keys()

    def keep(self, key: str, task: int, result: int) -> None:
        self.results[key] = result


def double(number: int) -> int:
    return 2 * number


def refuse_three(number: int) -> int:
    if number == 3:
        raise DataError("three is refused")
    return number


def break_at_three(number: int) -> int:
    return 1 // (number - 3)


def end_the_process(number: int) -> int:
    if number == 3:
        os._exit(1)
    return number


@pytest.mark.parametrize("workers", [1, 2])
def test_kept_results_are_not_made_again(workers: int) -> None:
    kept = Numbers()
    kept.results["2"] = -1
    left = unfinished(TASKS, kept)
    with local_engine(workers) as engine:
        assert set(run_shards(engine, double, left, kept)) == TASKS.keys() - {"2"}
    assert kept.results == {key: 2 * number for key, number in TASKS.items()} | {"2": -1}
    assert not unfinished(TASKS, kept)


@pytest.mark.parametrize("workers", [1, 2])
def test_results_in_the_order_of_the_tasks(workers: int) -> None:
    with local_engine(workers) as engine:
        assert list(in_order(engine, double, range(7))) == [2 * number for number in range(7)]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_ours_stays_what_it_was(workers: int) -> None:
    with local_engine(workers) as engine, pytest.raises(DataError, match="three is refused"):
        list(run_shards(engine, refuse_three, TASKS, Numbers()))


def test_another_error_says_where_it_happened() -> None:
    with local_engine(2) as engine, pytest.raises(ShardFailedError, match="ZeroDivisionError") as raised:
        list(in_order(engine, break_at_three, range(7)))
    assert "in break_at_three" in raised.value.__notes__[0]


def test_a_process_that_dies_costs_only_its_own_shards() -> None:
    with LocalEngine(1, retries=1) as engine:
        answers = dict(engine.each(end_the_process, TASKS, no_tick))
    failed = {key for key, answer in answers.items() if isinstance(answer, ShardFailedError)}
    assert answers.keys() == TASKS.keys()
    assert "3" in failed and "0" not in failed
    assert {answers[key] for key in TASKS.keys() - failed} == {TASKS[key] for key in TASKS.keys() - failed}


def test_a_cut_line_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    append_line(path, {"row": 1})
    with path.open("a") as file:
        file.write('{"row": ')
    append_line(path, {"row": 3})
    append_line(path, {"row": 4})
    assert list(read_lines(path)) == [(1, {"row": 1}), (3, {"row": 3}), (4, {"row": 4})]
