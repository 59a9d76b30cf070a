"""Every allocator against the slow reference, and the laws the paper states."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from tests.schedule import reference
from tests.schedule.strategies import documents
from tests.schedule.test_demand import read

from penstock.schedule.allocation import ALLOCATORS, Sharing
from penstock.schedule.application import Application, ApplicationSet, Curve, Phase
from penstock.schedule.demand import demands_of, fits, io_load
from penstock.schedule.plan import Allocated, allocate, sharing_of


def counts_of(document: dict[str, Any], name: str, **options: bool) -> Allocated:
    return allocate(read(document), name, Random(0), **options)


@given(documents())
def test_allocators_match_the_reference(document: dict[str, Any]) -> None:
    apps = document["applications"]
    expected = {
        "static": reference.static(document),
        "bestbdw": [reference.n_perf(app, document) for app in apps],
        "nsys": [reference.n_sys(app, document) for app in apps],
        "tcpu": reference.tcpu(document),
    }
    for name, counts in expected.items():
        allocated = counts_of(document, name)
        assert list(allocated.counts) == counts, name
        assert allocated.io_load == pytest.approx(float(reference.io_load(document, counts)), rel=1e-12)
        assert allocated.saturated == (reference.io_load(document, counts) > 1)


def rough_set(seed: int, applications: int, resources: int, io_share: float) -> ApplicationSet:
    """Many jagged curves that together nearly saturate the system, so that steps stop fitting and fit again."""
    rng = Random(seed)
    made = []
    for index in range(applications):
        counts = sorted(rng.sample(range(1, resources + 1), 12))
        curve = Curve(tuple(counts), tuple(rng.uniform(0.2, 1.0) * count**0.8 for count in counts))
        io_s = 100 * rng.uniform(0, 2 * io_share)
        made.append(Application(f"a{index}", 1 + index % 7, curve, (Phase(100 - io_s, io_s * curve.at(1)),)))
    return ApplicationSet(resources, 7 * applications, tuple(made))


def tcpu_by_trying_everything(sharing: Sharing) -> list[int]:
    demands, resources = sharing.demands, sharing.resources
    counts = [demand.n_sys for demand in demands]
    while True:
        load = io_load(demands, counts, resources)
        steps = []
        for index, (demand, now) in enumerate(zip(demands, counts, strict=True)):
            for count in range(now + 1, demand.n_perf + 1):
                gain = demand.cpu_load[count] - demand.cpu_load[now]
                if gain >= 0 and fits(load + (demand.stress[count] - demand.stress[now]) / resources):
                    steps.append((-gain, count, index))
                    break
        if not steps:
            return counts
        _, count, index = min(steps)
        counts[index] = count


@pytest.mark.parametrize("io_share", [0.005, 0.05, 0.2, 0.45])
@pytest.mark.parametrize("seed", range(4))
def test_tcpu_steps_are_those_found_by_trying_everything(seed: int, io_share: float) -> None:
    workload = rough_set(seed, 30, 64, io_share)
    expected = tcpu_by_trying_everything(sharing_of(workload))
    assert list(allocate(workload, "tcpu", Random(0)).counts) == expected


@given(documents())
def test_tcpu_as_printed_matches_the_reference(document: dict[str, Any]) -> None:
    assert list(counts_of(document, "tcpu", as_printed=True).counts) == reference.tcpu_as_printed(document)


@given(documents())
def test_tcpu_does_not_saturate_what_least_stress_does_not(document: dict[str, Any]) -> None:
    if not counts_of(document, "nsys").saturated:
        assert not counts_of(document, "tcpu").saturated


@given(documents())
def test_tcpu_equals_bestbdw_where_that_fits_on_rising_curves(document: dict[str, Any]) -> None:
    for app in document["applications"]:
        app["bandwidth"] = {"1": 1.0, "2": 2.5, "4": 4.25}
    best = counts_of(document, "bestbdw")
    if not best.saturated:
        assert counts_of(document, "tcpu").counts == best.counts


@settings(max_examples=60)
@given(documents(most_apps=4, most_resources=5))
def test_mckp_reaches_the_best_sum_with_exclusive_resources(document: dict[str, Any]) -> None:
    allocated = counts_of(document, "mckp")
    assert allocated.placement is not None
    users: dict[int, int] = {}
    for ids in allocated.placement:
        for resource in ids:
            users[resource] = users.get(resource, 0) + 1
    shared = [resource for resource, count in users.items() if count > 1]
    assert len(shared) <= 1 and all(0 <= resource < document["resources"] for resource in users)
    total = sum(
        float(reference.bandwidth(app, len(ids)))
        for app, ids in zip(document["applications"], allocated.placement, strict=True)
        if users[ids[0]] == 1 and not (len(ids) == 1 and _leftover(document, allocated, ids[0]))
    )
    assert total == pytest.approx(float(reference.knapsack_value(document)), rel=1e-9)


def _leftover(document: dict[str, Any], allocated: Allocated, resource: int) -> bool:
    """Whether one application alone sits on the set-aside resource: it counts as given none."""
    assert allocated.placement is not None
    exclusive = sum(len(ids) for ids in allocated.placement if ids != (resource,))
    return resource == document["resources"] - 1 and exclusive < resource


@given(documents())
def test_every_allocator_stays_within_legal_counts(document: dict[str, Any]) -> None:
    demands = demands_of(read(document))
    for name in ALLOCATORS:
        allocated = counts_of(document, name)
        assert all(1 <= n <= demand.limit for n, demand in zip(allocated.counts, demands, strict=True))


def test_printed_tcpu_accepts_a_worse_count_and_ours_does_not() -> None:
    app = {
        "name": "dip",
        "compute_nodes": 10,
        "bandwidth": {"1": 10.0, "2": 2.0, "3": 4.0, "4": 10.5},
        "phases": [{"compute_s": 10, "io_bytes": 500}],
    }
    greedy = {
        "name": "full",
        "compute_nodes": 10,
        "bandwidth": {"1": 1.0},
        "phases": [{"compute_s": 0, "io_bytes": 10}],
    }
    document = {"resources": 4, "compute_nodes": 40, "applications": [app, greedy]}
    assert counts_of(document, "tcpu").counts == (1, 1)
    assert counts_of(document, "tcpu", as_printed=True).counts == (3, 1)


def test_static_rounds_half_up() -> None:
    apps = [
        {
            "name": name,
            "compute_nodes": nodes,
            "bandwidth": {"1": 1.0, "8": 1.0},
            "phases": [{"compute_s": 1, "io_bytes": 1}],
        }
        for name, nodes in (("five-halves", 5), ("tiny", 1), ("most", 14))
    ]
    document = {"resources": 10, "compute_nodes": 20, "applications": apps}
    assert counts_of(document, "static").counts == (3, 1, 7)


def test_random_allocation_follows_its_seed() -> None:
    app = {
        "name": "a",
        "compute_nodes": 1,
        "bandwidth": {"1": 1.0, "8": 2.0},
        "phases": [{"compute_s": 1, "io_bytes": 1}],
    }
    document = {"resources": 8, "compute_nodes": 1, "applications": [app]}
    drawn = [allocate(read(document), "random", Random(seed)).counts for seed in range(40)]
    assert drawn == [allocate(read(document), "random", Random(seed)).counts for seed in range(40)]
    assert {counts[0] for counts in drawn} == set(range(1, 9))
