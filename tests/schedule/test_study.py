"""The study: resumable, repeatable, and honest about its intervals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.errors import DataError
from penstock.schedule.family import family_profiles
from penstock.schedule.study import sweep
from penstock.schedule.study.claims import check_claims
from penstock.schedule.study.summary import RowSet, compare, interval, mean_slowdown
from penstock.schedule.study.sweep import Batch, Experiment, Results, run_batch, run_experiment
from penstock.schedule.study.trial import Method

SMALL = (0.2, 0.5, 0.8, 0.95)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real experiments, with fewer points and applications."""
    smaller = {
        name: Experiment(name, e.curves, 20 if name == "load" else 30, SMALL[: len(e.points)], e.methods)
        for name, e in sweep.EXPERIMENTS.items()
        if name in ("load", "spread-20")
    }
    monkeypatch.setattr(sweep, "EXPERIMENTS", smaller)


def test_interval_is_the_normal_one() -> None:
    found = interval([1.0, 2.0, 3.0, 4.0])
    assert (found.mean, found.sets) == (2.5, 4)
    assert found.high - found.mean == pytest.approx(1.96 * 1.2909944487 / 2)


def test_compare_pairs_sets_and_is_its_own_inverse() -> None:
    rows = RowSet(run_batch(Batch("spread-20", 0.5, 0, 5, 0), family_profiles()))
    first, second = Method("bestbdw", "random"), Method("bestbdw", "greedy-clairvoyant")
    there, back = (compare(rows, *pair, mean_slowdown) for pair in ((first, second), (second, first)))
    assert there.mean * back.mean == pytest.approx(1) and there.sets == 5


def test_batches_do_not_depend_on_each_other() -> None:
    profiles = family_profiles()
    whole = run_batch(Batch("spread-20", 0.5, 0, 3, 7), profiles)
    assert run_batch(Batch("spread-20", 0.5, 2, 1, 7), profiles) == whole[-3:]


def test_results_resume_after_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    batch, other = (Batch("spread-20", 0.5, first, 1, 0) for first in (0, 1))
    profiles = family_profiles()
    rows = run_experiment([batch], profiles, Results(path), 1, lambda done, total: None)
    with path.open("a") as stream:
        stream.write('{"batch": "spread-20/0.50/1')
    again = Results(path)
    assert again.rows(batch) == rows and not again.has(other)
    again.append(other, rows)
    assert Results(path).has(other) and Results(path).has(batch)


def test_damaged_results_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("nonsense\n{}\n")
    with pytest.raises(DataError, match="line 1"):
        Results(path)


@pytest.mark.usefixtures("small")
def test_study_leaves_figures_tables_and_claims(tmp_path: Path) -> None:
    out = tmp_path / "study"
    arguments = ["schedule", "study", "--experiment", "spread", "--sets", "2", "--jobs", "1"]
    result = CliRunner().invoke(cli, [*arguments, "--out", str(out), "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert len(document["claims"]) == 14 and {"section", "claim", "holds", "evidence"} <= set(
        document["claims"][0]
    )
    names = {Path(path).name[:5] for path in document["figures"]}
    assert names >= {"fig05", "fig06", "fig07", "fig08", "fig09", "fig10", "fig12", "fig14"}
    assert all(Path(path).stat().st_size > 10_000 for path in document["figures"])
    assert "## The paper's claims" in (out / "study.md").read_text()
    assert "load: 4 of 4" in result.stderr


def test_claims_need_their_experiments() -> None:
    assert check_claims({}) == []
