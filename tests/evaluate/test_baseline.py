"""The baseline's table: every set, every policy, against the default."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import baseline
from benchmarks.evidence.baseline_rows import SETS, WORLDS, BaselineRow, summary_table, tables

from penstock.evaluate.experiments import EXPERIMENTS
from penstock.evaluate.lab import Lab
from penstock.evaluate.store import Store

ROWS = (
    BaselineRow("dynamic", "c220g5", "a", 2.0, {"weir": 1.0, "dial": 0.5}),
    BaselineRow("dynamic", "c220g5", "b", 2.0, {"weir": 4.0, "dial": 2.0}),
    BaselineRow("dynamic", "c6525-25g", "a", 1.0, {"weir": 1.0, "dial": 1.0}),
)


def test_sets_are_experiments() -> None:
    assert set(SETS) <= set(EXPERIMENTS)


def test_summary_has_the_geometric_mean_and_the_worst_case_of_every_set_and_cluster() -> None:
    table = summary_table(ROWS, ("weir", "dial"))
    assert [list(row) for row in table.rows] == [
        ["dynamic", "c220g5", "2", "2.00", "2.00 (1.00)", "1.00 (0.50)"],
        ["dynamic", "c6525-25g", "1", "1.00", "1.00 (1.00)", "1.00 (1.00)"],
    ]
    assert [section.title for section in tables(ROWS, ("weir",))] == [
        "dynamic (c220g5)",
        "dynamic (c6525-25g)",
    ]


@pytest.mark.slow
def test_baseline_goes_on_where_it_stopped(tmp_path: Path) -> None:
    only = ("s_rd_rn_1m", "bdcats-strided", "table-v-one-server")
    asked = baseline.Asked(("c220g5",), tuple(SETS), only, ("climb",), 1 / 60)
    assert not asked.everything
    first = baseline.measure(Lab(Store(tmp_path), workers=1), asked)
    assert [(row.set, row.case) for row in first] == [
        ("static", "s_rd_rn_1m"),
        ("applications", "bdcats-strided"),
        ("independent", "table-v-one-server"),
    ]
    assert all(row.ceiling is not None and row.ceiling >= 0.97 for row in first)
    stages: list[str] = []
    lab = Lab(Store(tmp_path), 1, lambda stage, done, total: stages.append(stage))
    assert baseline.measure(lab, asked) == first
    assert not stages


def test_worlds_drawn_at_random_are_part_of_it_without_a_ceiling(tmp_path: Path) -> None:
    asked = baseline.Asked((), (WORLDS,), (), ("climb",), 1 / 30)
    found = baseline.measure(Lab(Store(tmp_path), 1), asked)
    assert [(row.set, row.ceiling, set(row.policies)) for row in found] == [
        (WORLDS, None, {"climb", "nudge"})
    ]
    (line,) = summary_table(found, ("climb",)).rows
    assert line[:4] == [WORLDS, "drawn", "1", "-"]
