"""Policies that only experiments have."""

from __future__ import annotations

from penstock.evaluate.bayes import BayesPolicy
from penstock.evaluate.drivers import Course
from penstock.evaluate.simulated import run
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.simulation import Simulation
from penstock.testing.policies import check_policy

PLAN = named_plan(builtin_cluster("c220g5"), "s_rd_rn_1m", seed=3)


def test_bayes_obeys_the_law_of_policies() -> None:
    check_policy(BayesPolicy)


def test_copied_world_goes_the_same_way_and_leaves_the_original_alone() -> None:
    original, copy = Simulation(PLAN), Simulation(PLAN)
    original.run_until(1.0)
    copy.become(original)
    copy.run_until(2.0)
    assert original.now_s == 1.0
    original.run_until(2.0)
    assert copy.totals() == original.totals()


def test_oracle_beats_the_default() -> None:
    plain = run(PLAN, Course(1.0, 0.5))
    clairvoyant = run(PLAN, Course(1.0, 0.5, policy="oracle"))
    assert clairvoyant.total.figures["app_mbps"] > 1.3 * plain.total.figures["app_mbps"]
    assert clairvoyant.changes > 0
