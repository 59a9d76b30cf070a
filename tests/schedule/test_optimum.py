"""The exact optimum bounds every heuristic."""

from __future__ import annotations

from itertools import combinations, product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from tests.schedule.strategies import documents
from tests.schedule.test_demand import read

from penstock.errors import UsageError
from penstock.schedule.allocation import ALLOCATORS
from penstock.schedule.family import family_profiles
from penstock.schedule.generator import Scenario, generate
from penstock.schedule.optimum import count_schedules, magnitude, optimise
from penstock.schedule.placement import PLACERS
from penstock.schedule.plan import allocate, place
from penstock.schedule.simulation import simulate
from penstock.schedule.study.gap import measure_gaps, table_of_gaps


@settings(max_examples=15, deadline=None)
@given(documents(most_apps=3, most_resources=3))
def test_no_heuristic_beats_the_optimum(document: dict[str, Any]) -> None:
    workload = read(document)
    best = optimise(workload)
    for name in ALLOCATORS:
        for placer in PLACERS:
            rng = Random(1)
            outcome = simulate(workload, place(workload, allocate(workload, name, rng), placer, rng))
            assert outcome.mean_io_slowdown >= best["slowdown"].outcome.mean_io_slowdown - 1e-9
            assert outcome.machine_idle_time >= best["idle"].outcome.machine_idle_time - 1e-9


def test_optimum_equals_trying_every_labelled_placement() -> None:
    workload = generate(Scenario(3, 0.4, resources=3, compute_nodes=30), family_profiles(), Random(3))
    subsets = [ids for size in (1, 2, 3) for ids in combinations(range(3), size)]
    slowdowns = [simulate(workload, placed).mean_io_slowdown for placed in product(subsets, repeat=3)]
    assert optimise(workload)["slowdown"].outcome.mean_io_slowdown == pytest.approx(min(slowdowns))


def test_large_sets_are_refused() -> None:
    workload = generate(Scenario(20, 0.4), family_profiles(), Random(3))
    with pytest.raises(UsageError, match=r"20 applications on 20 resources have up to 10\^102 schedules"):
        optimise(workload)


def test_very_large_sets_are_refused_with_their_size() -> None:
    profiles = family_profiles()
    workload = generate(Scenario(1200, 0.4, resources=1008, compute_nodes=20000), profiles, Random(3))
    with pytest.raises(
        UsageError, match=r"1200 applications on 1008 resources have up to 10\^\d{6} schedules"
    ):
        optimise(workload)


@pytest.mark.parametrize(("applications", "resources"), [(1, 1), (3, 4), (5, 4), (6, 9), (10, 12)])
def test_magnitude_is_that_of_the_count(applications: int, resources: int) -> None:
    exact = count_schedules(applications, resources)
    assert 10 ** magnitude(applications, resources) == pytest.approx(exact, rel=1e-9)


def test_gaps_are_measured_for_every_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.schedule.study.gap.LOADS", (0.5,))
    monkeypatch.setattr("penstock.schedule.study.gap.APPLICATIONS", 3)
    monkeypatch.setattr("penstock.schedule.study.gap.RESOURCES", 3)
    seen: list[tuple[int, int]] = []
    gaps = list(measure_gaps(family_profiles(), 3, 0, lambda done, total: seen.append((done, total))))
    assert seen[-1] == (3, 3) and all(gap.slowdown.mean >= 1 - 1e-9 for gap in gaps)
    assert len(list(table_of_gaps(gaps))) == 2 + len(gaps)
