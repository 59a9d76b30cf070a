from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock.errors import DataError
from penstock.predict.featuresets import PRINTED
from penstock.train.classifiers import SPACES, draws
from penstock.train.compare import TrialBudget, compare
from penstock.train.kept_scores import append_score, read_scores
from penstock.train.nets import SequenceShaper
from penstock.train.samples import samples
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
    rows = list(compare(reading, ("svm", "rnn", "gbdt"), TrialBudget(2, 0), said.append, {}))
    assert [row.kind for row in rows] == ["svm", "gbdt"]
    assert any("rnn: left out" in line and "penstock[nets]" in line for line in said)
    for row in rows:
        assert row.judgement.error < row.judgement.trivial_error
        assert row.paper_error in (0.23, 0.04)
        assert row.trials == 2
        assert set(row.given) == set(SPACES[row.kind])


def test_every_kind_may_try_as_many_parameters_as_every_other() -> None:
    for kind, space in SPACES.items():
        found = draws(kind, 6, 0)
        assert len(found) == 6
        assert found[0] == {name: values[0] for name, values in space.items()}
        assert all(one not in found[:at] for at, one in enumerate(found))
        assert draws(kind, 6, 0) == found
    assert len(draws("rnn", 1000, 0)) == 27


def test_comparison_goes_on_where_it_stopped(table: TraceTable, tmp_path: Path) -> None:
    reading, kept = table.take(table.workload == "seq_r_1_io_1m"), tmp_path / "rows.jsonl"
    for row in compare(reading, ("svm",), TrialBudget(1, 0), quiet, read_scores(kept)):
        append_score(kept, row)
    known = read_scores(kept)
    said: list[str] = []
    rows = list(compare(reading, ("svm",), TrialBudget(1, 0), said.append, known))
    assert rows == list(known.values())
    assert not said
    (other,) = compare(reading, ("svm",), TrialBudget(1, 1), quiet, known)
    assert other.key not in known


def test_file_that_holds_no_rows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"kind": "svm"}\n')
    with pytest.raises(DataError, match="line 1 is not a row"):
        read_scores(tmp_path / "rows.jsonl")


def test_networks_read_snapshots_oldest_first(table: TraceTable) -> None:
    found = samples(table.take(table.workload == "seq_r_1_io_1m"), "read", 1, PRINTED)
    shape = SequenceShaper(found, np.arange(len(found)))
    steps = shape(found.vectors)
    assert steps.shape == (len(found), 2, 4 + 4 + 2)
    scaled = np.nan_to_num((found.vectors - shape.mean) / shape.scale)
    assert steps[5, 1, :4] == pytest.approx(scaled[5, :4], abs=1e-5)
    assert steps[5, 0, :4] == pytest.approx(scaled[5, 4:8], abs=1e-5)
    assert steps[5, 1, 4:8] == pytest.approx(scaled[5, 8:12], abs=1e-5)
    assert not steps[5, 0, 4:8].any()
    assert steps[5, 0, 8:] == pytest.approx(scaled[5, 12:], abs=1e-5)
