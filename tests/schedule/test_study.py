"""The study: resumable, repeatable, and honest about its intervals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.errors import DataError, UsageError
from penstock.schedule.family import family_profiles
from penstock.schedule.profile import load_profiles
from penstock.schedule.study import sweep
from penstock.schedule.study.claims import check_claims, ratio_by_load
from penstock.schedule.study.summary import RowSet, compare, interval, mean_slowdown
from penstock.schedule.study.sweep import Batch, Results, StudyExperiment, run_batch, run_experiment
from penstock.schedule.study.trial import Method

SMALL = (0.2, 0.5, 0.8, 0.95)


SPREAD = sweep.experiments_of()["spread-20"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real experiments, with fewer points."""
    monkeypatch.setattr(sweep, "POINTS", SMALL)


def test_interval_is_the_normal_one() -> None:
    found = interval([1.0, 2.0, 3.0, 4.0])
    assert (found.mean, found.sets) == (2.5, 4)
    assert found.high - found.mean == pytest.approx(1.96 * 1.2909944487 / 2)


def test_compare_pairs_sets_and_is_its_own_inverse() -> None:
    rows = RowSet(run_batch(Batch(SPREAD, 0.5, 0, 5, 0), family_profiles()))
    first, second = Method("bestbdw", "random"), Method("bestbdw", "greedy-clairvoyant")
    there, back = (compare(rows, *pair, mean_slowdown) for pair in ((first, second), (second, first)))
    assert there.mean * back.mean == pytest.approx(1) and there.sets == 5


def test_batches_do_not_depend_on_each_other() -> None:
    profiles = family_profiles()
    whole = run_batch(Batch(SPREAD, 0.5, 0, 3, 7), profiles)
    assert run_batch(Batch(SPREAD, 0.5, 2, 1, 7), profiles) == whole[-3:]


def test_results_resume_after_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    batch, other = (Batch(SPREAD, 0.5, first, 1, 0) for first in (0, 1))
    profiles = family_profiles()
    rows = run_experiment([batch], profiles, Results(path), 1, lambda done, total: None)
    with path.open("a") as stream:
        stream.write('{"batch": "spread-20/0.50/1')
    again = Results(path)
    assert again.rows(batch.key) == rows and not again.finished({other.key: other})
    again.keep(other.key, other, rows)
    both = {each.key: each for each in (batch, other)}
    assert Results(path).finished(both) == set(both)


def test_damaged_results_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"batch": "spread\n{}\n')
    with pytest.raises(DataError, match="line 2"):
        Results(path)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_study_leaves_figures_tables_and_claims_for_each_number_of_applications(tmp_path: Path) -> None:
    out = tmp_path / "study"
    arguments = ["schedule", "study", "--experiment", "load", "--applications", "60,30", "--sets", "2"]
    arguments += ["--jobs", "1", "--out", str(out), "--json"]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert {"section", "claim", "holds", "evidence", "applications"} <= set(document["claims"][0])
    assert [claim["applications"] for claim in document["claims"]] == [60] * 14 + [30] * 14
    names = {Path(path).name[:5] for path in document["figures"]}
    assert names == {f"fig{number:02d}" for number in (5, 6, 7, 8, 9, 10, 12, 14, 15)}
    assert sum("/k30/" in path for path in document["figures"]) == 8
    assert all(Path(path).stat().st_size > 10_000 for path in document["figures"])
    tables = (out / "study.md").read_text()
    assert "| load | K = 30 | K = 60 |" in tables and "| section | claim | K = 30 | K = 60 |" in tables
    assert "## Machine idle time: load, K = 30" in tables
    assert "load@30: 4 of 4" in result.stderr


@pytest.mark.parametrize("value", ["", "0", "60,", "-3", "many", "6.5"])
def test_study_refuses_what_is_no_number_of_applications(value: str) -> None:
    result = CliRunner().invoke(cli, ["schedule", "study", "--applications", value])
    assert result.exit_code == 2 and "is not a number of applications" in result.stderr


def test_study_refuses_loads_that_so_few_applications_cannot_cause() -> None:
    experiment = sweep.experiments_of((8,))["load@8"]
    with pytest.raises(UsageError, match="--applications 8: too few"):
        run_batch(Batch(experiment, 0.95, 0, 1, 0), family_profiles())


def test_who_wins_at_a_high_load_depends_on_the_number_of_applications(shared_dir: Path) -> None:
    profiles = load_profiles("io-nodes", shared_dir / "data")
    ratios = {}
    for applications in (40, 140):
        methods = (Method("nsys"), Method("bestbdw"))
        experiment = StudyExperiment(f"load@{applications}", "io-nodes", applications, (1.0,), methods)
        rows = RowSet(run_batch(Batch(experiment, 1.0, 0, 6, 0), profiles))
        ratios[applications] = ratio_by_load(rows, "nsys", "bestbdw")[1.0]
    assert ratios[140].high < 1 < ratios[40].low


def test_claims_need_their_experiments() -> None:
    assert check_claims({}, 60) == []
