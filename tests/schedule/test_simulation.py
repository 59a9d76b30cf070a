"""The exact simulator against the slow reference, its identities, and the time-stepped cross-check."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.schedule import reference
from tests.schedule.strategies import documents
from tests.schedule.test_demand import read

from penstock.schedule.plan import allocate, place
from penstock.schedule.simulation import simulate

OPENS_AT_THE_END: dict[str, Any] = {
    "resources": 1,
    "compute_nodes": 2,
    "applications": [
        {
            "name": "late",
            "compute_nodes": 1,
            "bandwidth": {"1": 3},
            "phases": [{"compute_s": 1, "io_bytes": 0}, {"compute_s": 0, "io_bytes": 1}],
        },
        {
            "name": "first",
            "compute_nodes": 1,
            "bandwidth": {"1": 1},
            "phases": [{"compute_s": 0, "io_bytes": 1}],
        },
    ],
}


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@example(OPENS_AT_THE_END, "first", "random")
@given(documents(), st.sampled_from(["all", "first"]), st.sampled_from(["random", "greedy-clairvoyant"]))
def test_simulation_matches_the_reference(document: dict[str, Any], until: Any, placer: str) -> None:
    workload = read(document)
    rng = Random(3)
    placement = place(workload, allocate(workload, "random", rng), placer, rng)
    expected = reference.simulate(document, [list(ids) for ids in placement], until)
    outcome = simulate(workload, placement, until)
    assert outcome.horizon_s == pytest.approx(float(expected["horizon_s"]), 1e-8, 1e-8)
    assert outcome.io_spread == pytest.approx(float(expected["io_spread"]), 1e-8, 1e-8)
    assert outcome.machine_idle_time == pytest.approx(float(expected["machine_idle_time"]), 1e-8, 1e-8)
    for index, one in enumerate(outcome.experiences):
        assert one.io_s == pytest.approx(float(expected["io_s"][index]), 1e-8, 1e-8)
        assert one.moved_bytes == pytest.approx(float(expected["moved"][index]), 1e-8, 1e-8)
        assert one.io_slowdown_allocation == pytest.approx(
            float(expected["io_slowdown_allocation"][index]), 1e-8, 1e-8
        )
        assert one.io_slowdown == pytest.approx(float(expected["io_slowdown"][index]), rel=1e-6)


@settings(deadline=None)
@given(documents())
def test_run_to_the_end_moves_every_byte(document: dict[str, Any]) -> None:
    workload = read(document)
    rng = Random(5)
    outcome = simulate(workload, place(workload, allocate(workload, "bestbdw", rng), "random", rng))
    for application, one in zip(workload.applications, outcome.experiences, strict=True):
        assert one.moved_bytes == pytest.approx(application.io_bytes, rel=1e-9)
        assert one.end_s == pytest.approx(application.compute_s + one.io_s, rel=1e-9)
    assert outcome.horizon_s == max(one.end_s or 0.0 for one in outcome.experiences)


@settings(deadline=None)
@given(documents(most_apps=1))
def test_one_application_alone_has_no_congestion(document: dict[str, Any]) -> None:
    workload = read(document)
    rng = Random(0)
    (one,) = simulate(
        workload, place(workload, allocate(workload, "bestbdw", rng), "random", rng)
    ).experiences
    assert one.io_slowdown == pytest.approx(1.0) and one.io_slowdown_congestion == pytest.approx(
        0.0, abs=1e-9
    )


@settings(deadline=None)
@given(documents(most_apps=1))
def test_two_identical_applications_together_take_twice_as_long(
    document: dict[str, Any],
) -> None:
    twin = document["applications"][0] | {"name": "twin"}
    document["applications"].append(twin)
    document["compute_nodes"] *= 2
    workload = read(document)
    count = allocate(workload, "bestbdw", Random(0)).counts[0]
    outcome = simulate(workload, (tuple(range(count)),) * 2)
    moved = workload.applications[0].io_bytes > 0
    assert [one.io_slowdown for one in outcome.experiences] == pytest.approx([2.0 if moved else 1.0] * 2)


@settings(deadline=None)
@given(documents(), st.sampled_from(["all", "first"]))
def test_slowdown_is_at_least_its_allocation_part(document: dict[str, Any], until: Any) -> None:
    workload = read(document)
    rng = Random(7)
    outcome = simulate(workload, place(workload, allocate(workload, "nsys", rng), "random", rng), until)
    for one in outcome.experiences:
        assert one.io_slowdown_congestion >= -1e-6 * one.io_slowdown
        assert one.io_slowdown_allocation >= 1 - 1e-12
    assert 0 <= outcome.machine_idle_time <= 1 and 0 <= outcome.io_spread <= 1


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(documents(most_apps=4))
def test_time_stepped_run_approaches_the_exact_one(document: dict[str, Any]) -> None:
    for app in document["applications"]:
        app["phases"] = [
            {"compute_s": p["compute_s"] + 20, "io_bytes": p["io_bytes"] + 100} for p in app["phases"]
        ]
    workload = read(document)
    rng = Random(11)
    placement = place(workload, allocate(workload, "bestbdw", rng), "greedy-non-clairvoyant", rng)
    exact = simulate(workload, placement)
    errors = []
    for step_s in (0.5, 0.05, 0.005):
        stepped = simulate(workload, placement, step_s=step_s)
        errors.append(abs(stepped.horizon_s - exact.horizon_s))
        rounds = 2 * sum(len(app.phases) for app in workload.applications) * len(workload.applications)
        assert errors[-1] <= step_s * rounds + 1e-6
        assert [one.moved_bytes for one in stepped.experiences] == pytest.approx(
            [app.io_bytes for app in workload.applications], rel=1e-6
        )
    assert stepped.mean_io_slowdown == pytest.approx(exact.mean_io_slowdown, rel=0.02)


def test_transfers_are_independent_and_the_last_one_ends_the_subphase() -> None:
    def app(name: str, compute_s: float, io_bytes: float, bandwidth: dict[str, float]) -> dict[str, Any]:
        phases = [{"compute_s": compute_s, "io_bytes": io_bytes}]
        return {"name": name, "compute_nodes": 1, "bandwidth": bandwidth, "phases": phases}

    wide = app("wide", 0, 20, {"1": 1.0, "2": 2.0})
    narrow = app("narrow", 4, 5, {"1": 1.0})
    document = {"resources": 3, "compute_nodes": 2, "applications": [wide, narrow]}
    outcome = simulate(read(document), ((0, 1), (1,)))
    # On resource 1 narrow joins at 4 and needs 5 alone: shared until 14, when wide has one second left.
    assert [one.io_s for one in outcome.experiences] == [15.0, 10.0]
    assert outcome.busy_s == (10.0, 15.0, 0.0)
    assert outcome.io_spread == 1.0 and outcome.machine_idle_time == pytest.approx(25 / 30)


def test_first_stops_only_after_everybody_finished_a_phase() -> None:
    def app(name: str, phases: list[dict[str, float]]) -> dict[str, Any]:
        return {"name": name, "compute_nodes": 1, "bandwidth": {"1": 1.0}, "phases": phases}

    short = app("short", [{"compute_s": 1, "io_bytes": 1}])
    slow = app("slow", [{"compute_s": 10, "io_bytes": 2}] * 3)
    document = {"resources": 2, "compute_nodes": 2, "applications": [short, slow]}
    outcome = simulate(read(document), ((0,), (1,)), "first")
    assert outcome.horizon_s == 12.0
    assert [one.moved_bytes for one in outcome.experiences] == [1.0, 2.0]
    assert [one.end_s for one in outcome.experiences] == [2.0, None]
