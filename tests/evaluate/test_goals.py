"""The table of goals: what counts as met, and a page that keeps what was not measured again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks import tuner
from benchmarks.evidence.page_table import BEGINS, read_table, shown_tables
from benchmarks.goals import worlds
from benchmarks.goals.goal import Extent, Goal

from penstock.evaluate.lab import Lab
from penstock.evaluate.store import Store


@pytest.mark.parametrize(
    ("wanted", "value", "at_most", "met"),
    [
        (1.0, 1.0, False, True),
        (1.0, 0.99, False, False),
        (1.0, 1.1, True, False),
        (1.0, None, False, None),
        (None, 1.0, False, None),
    ],
)
def test_a_goal_is_met_on_the_right_side_of_what_is_wanted(
    wanted: float | None, value: float | None, at_most: bool, met: bool | None
) -> None:
    assert Goal("g", "w", wanted, value, at_most).met is met


def test_page_keeps_the_groups_that_were_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuner, "PAGE", tmp_path / "goals.md")
    monkeypatch.setattr(tuner, "TABLE", tmp_path / "goals" / "figures.json")
    monkeypatch.setattr(tuner, "commit_here", lambda: "0123456")
    values = iter((0.5, 2.0, 3.0))

    def measured(lab: Lab, extent: Extent) -> Iterator[Goal]:
        yield Goal("x", "y", 1.0, next(values))

    monkeypatch.setattr(tuner, "GROUPS", {"first": measured, "second": measured})
    lab = Lab(Store(None), 1)
    tuner.written(tuner.sections(lab, ["first", "second"], Extent()), {"weir": "m"})
    tuner.written(tuner.sections(lab, ["second"], Extent(seeds=1)), {"weir": "m"})
    page = (tmp_path / "goals.md").read_text()
    assert shown_tables(page) == read_table(tmp_path / "goals" / "figures.json").tables
    assert [row[3] for ((_, row),) in shown_tables(page).values()] == ["0.500", "3.000"]
    assert "Means over 3 seeds." in page.partition("## second")[0]
    assert "One seed." in page.partition("## second")[2]
    assert page.count(BEGINS) == 1


@pytest.mark.slow
def test_the_twin_that_rewrites_is_measured_against_its_default(tmp_path: Path) -> None:
    found = list(worlds.rewriting(Lab(Store(tmp_path), 1), Extent(seeds=1, time=1 / 60)))
    assert [goal.wanted for goal in found] == [2.0, 0.97, None]
    assert all(goal.value is not None and goal.value > 0.3 for goal in found)
