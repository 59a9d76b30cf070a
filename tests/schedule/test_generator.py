"""Generated sets have the properties section V-C gives them."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.schedule.family import family_profiles
from penstock.schedule.generator import Scenario, generate, ratio_bound, split_nodes
from penstock.schedule.plan import sharing_of
from penstock.schedule.study.trial import HALF_WIDTH, draw_set


@given(st.floats(0.001, 0.999))
def test_ratio_bound_solves_its_equation(stress: float) -> None:
    bound = ratio_bound(stress)
    assert math.log1p(bound) / bound == pytest.approx(stress, rel=1e-9)


@given(st.integers(1, 480))
def test_nodes_are_all_used_and_everybody_has_one(applications: int) -> None:
    nodes = split_nodes(applications, 480)
    assert len(nodes) == applications and min(nodes) >= 1 and sum(nodes) == 480


def test_nodes_follow_the_shares_where_they_can() -> None:
    nodes = sorted(split_nodes(20, 480), reverse=True)
    assert (sum(nodes[:2]), sum(nodes[2:8]), sum(nodes[8:])) == (360, 96, 24)


def test_generated_applications_share_one_horizon() -> None:
    workload = generate(Scenario(60, 0.5), family_profiles(), Random(1))
    for application in workload.applications:
        alone_s = application.compute_s + application.io_bytes / application.curve.at(1)
        assert alone_s == pytest.approx(5000)
        assert 2 <= len(application.phases) <= 20


def test_expected_load_on_one_resource_each_is_the_chosen_one() -> None:
    loads = []
    for seed in range(200):
        sharing = sharing_of(generate(Scenario(60, 0.7), family_profiles(), Random(seed)))
        loads.append(sum(demand.stress[1] for demand in sharing.demands) / sharing.resources)
    assert sum(loads) / len(loads) == pytest.approx(0.7, rel=0.03)


def test_same_seed_gives_the_same_set() -> None:
    sets = [generate(Scenario(10, 0.2), family_profiles(), Random(4)) for _ in range(2)]
    assert sets[0] == sets[1]


@pytest.mark.parametrize("point", [0.05, 0.5, 1.0])
def test_drawn_sets_lie_near_their_point(point: float) -> None:
    _, least = draw_set(family_profiles(), 40, point, Random(2))
    assert abs(least - point) <= HALF_WIDTH


@pytest.mark.parametrize(("applications", "load"), [(20, 1.0), (20, 0.0), (500, 0.5), (0, 0.1)])
def test_impossible_scenarios_are_refused(applications: int, load: float) -> None:
    with pytest.raises(UsageError):
        Scenario(applications, load)
