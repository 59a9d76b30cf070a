from __future__ import annotations

import numpy as np
import pytest

from penstock.train.compare import compare
from penstock.train.study import merge, study
from penstock.train.table import TraceTable


def quiet(_: str) -> None:
    """Progress for nobody."""


def test_merging_adds_sums_and_keeps_the_last_gauge(table: TraceTable) -> None:
    merged = merge(table, 4)
    assert len(merged) == len(table) // 4
    assert merged.column("read_bytes").sum() == pytest.approx(table.column("read_bytes").sum())
    assert merged.column("seconds").sum() == pytest.approx(table.column("seconds").sum())
    assert merged.column("pages").tolist() == table.column("pages")[3::4].tolist()


def test_merging_leaves_an_incomplete_end_out(table: TraceTable) -> None:
    odd = table.take(np.flatnonzero(table.observation_no < 7))
    assert merge(odd, 3).observation_no.tolist() == [0, 1] * 8


def test_study_judges_every_choice(table: TraceTable) -> None:
    reading = table.take(table.workload == "seq_r_1_io_1m")
    points = list(study(reading, (0, 1), (2,), 2, quiet))
    assert [(point.history, point.merged) for point in points] == [(0, 1), (1, 1), (1, 2)]
    assert points[2].interval_s == pytest.approx(2 * points[0].interval_s, rel=0.05)


def test_comparison_covers_kinds_and_leaves_out_what_is_not_installed(
    table: TraceTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    said: list[str] = []
    reading = table.take(table.workload == "seq_r_1_io_1m")
    rows = list(compare(reading, ("svm", "rnn", "gbdt"), 0, said.append))
    assert [row.kind for row in rows] == ["svm", "gbdt"]
    assert any("rnn: left out" in line and "penstock[nets]" in line for line in said)
    for row in rows:
        assert row.judgement.error < row.judgement.trivial_error
        assert row.paper_error in (0.23, 0.04)
