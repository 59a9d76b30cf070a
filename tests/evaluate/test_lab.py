"""Trials: what determines them, that results are kept and do not depend on who runs them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.campaign.program import version
from penstock.decide.policies import policy_class
from penstock.decide.policies.default import DefaultPolicy
from penstock.evaluate import marks
from penstock.evaluate.drivers import Course
from penstock.evaluate.lab import Lab
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.evaluate.store import Store
from penstock.evaluate.trial import Trial, dump, load, perform
from penstock.knobs import Setting
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.simulation import Simulation

PLAN = named_plan(builtin_cluster("c220g5"), "s_wr_rn_1m", seed=3)
HELD = Trial(PLAN, Course(1.0, 0.5, Setting(pages=256, flight=8)))
TUNED = Trial(PLAN, Course(1.5, 0.5, policy="random"))


def test_trial_measures_what_a_held_setting_brings_and_survives_json() -> None:
    measured = perform(HELD)
    simulation = Simulation(PLAN)
    simulation.set_all(Setting(pages=256, flight=8))
    simulation.run_until(0.5)
    before = simulation.totals()
    simulation.run_until(1.5)
    assert measured.app_mbps == pytest.approx((simulation.totals() - before).app_bytes / 1e6)
    assert sum(measured.series) * INTERVAL_S == pytest.approx(measured.app_mbps, rel=1e-3)
    assert measured.mean(0.0, 1.0) == pytest.approx(measured.app_mbps, rel=1e-3)
    assert load(dump(measured)) == measured


def test_trial_path_starts_at_the_default_and_follows_the_policy() -> None:
    measured = perform(TUNED)
    assert measured.path[0].setting == Setting(pages=1024, flight=8, dirty=2000)
    assert measured.changes > 0
    assert len(measured.path) > 1


def test_trial_key_changes_with_all_that_matters(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text("first")
    by_file = Trial(PLAN, Course(1.0, 0.5, policy=str(own)))
    keys = [HELD.key, TUNED.key, by_file.key, Trial(replace(PLAN, seed=4), HELD.course).key]
    own.write_text("second")
    keys += [by_file.key, replace(TUNED, course=replace(TUNED.course, guard=True)).key]
    assert len(set(keys)) == len(keys)
    assert HELD.key == Trial(PLAN, Course(1.0, 0.5, Setting(flight=8, pages=256))).key


def test_lab_results_do_not_depend_on_the_number_of_workers() -> None:
    trials = [HELD, TUNED, HELD]
    with Lab(Store(None), 1) as alone, Lab(Store(None), 2) as together:
        assert alone.measure("one", trials) == together.measure("two", trials)


def test_store_resumes_and_forgives_a_torn_line(tmp_path: Path) -> None:
    first = Store(tmp_path)
    measured = perform(HELD)
    first.keep(HELD.key, HELD, measured)
    (file,) = tmp_path.glob("*.jsonl")
    file.write_text(file.read_text() + '{"key": "torn')
    again = Store(tmp_path)
    assert again.find(HELD) == measured
    assert again.find(TUNED) is None


def test_store_keeps_results_as_long_as_behaviour_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other sources cost a new trace and no result; other behaviour of one policy costs its results alone."""
    store = Store(tmp_path)
    measured = {trial.key: perform(trial) for trial in (HELD, TUNED)}
    for trial in (HELD, TUNED):
        store.keep(trial.key, trial, measured[trial.key])
    monkeypatch.setattr(marks, "version", lambda *parts: "other sources")
    assert Store(tmp_path).find(TUNED) == measured[TUNED.key]
    monkeypatch.setattr(marks, "version", lambda *parts: "yet others")
    monkeypatch.setattr(policy_class("random"), "propose", DefaultPolicy.propose)
    assert Store(tmp_path).find(TUNED) is None
    assert Store(tmp_path).find(HELD) == measured[HELD.key]


def test_marks_are_traced_once_for_the_same_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[str | None] = []

    def trace(course: Course) -> str:
        traced.append(course.policy)
        return "a mark"

    monkeypatch.setattr(marks, "traced_mark", trace)
    own = tmp_path / "own.py"
    own.write_text("from penstock.decide.policies.default import POLICY\n")
    for _ in range(2):
        found = marks.Marks(tmp_path)
        assert found.find(TUNED.course) == found.find(replace(TUNED.course, seconds=9.0)) == "a mark"
        found.find(replace(TUNED.course, guard=True))
        found.find(replace(TUNED.course, policy=str(own)))
    assert traced == ["random", "random", str(own), str(own)]


def test_version_follows_the_sources() -> None:
    assert version("units.py") != version("knobs")
    assert version("simulate") != version("simulate", "decide")
