"""Characteristic counts, stress and load against their definitions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from tests.schedule import reference
from tests.schedule.strategies import documents

from penstock.errors import DataError
from penstock.schedule.application import ApplicationSet, Curve
from penstock.schedule.demand import demands_of, io_load
from penstock.schedule.setfile import parse_set


def read(document: dict[str, Any]) -> ApplicationSet:
    return parse_set(json.dumps(document), "set.json")


@given(documents())
def test_demand_matches_the_definitions(document: dict[str, Any]) -> None:
    for app, demand in zip(document["applications"], demands_of(read(document)), strict=True):
        assert demand.limit == reference.limit(app, document)
        assert demand.n_perf == reference.n_perf(app, document)
        assert demand.n_sys == reference.n_sys(app, document)
        for count in range(1, demand.limit + 1):
            assert demand.stress[count] == pytest.approx(float(reference.stress(app, count)), rel=1e-12)
            assert demand.cpu_load[count] == pytest.approx(float(reference.cpu_load(app, count)), rel=1e-12)


@given(documents(most_apps=8, most_resources=20))
def test_n_sys_never_exceeds_n_perf(document: dict[str, Any]) -> None:
    assert all(demand.n_sys <= demand.n_perf for demand in demands_of(read(document)))


@given(documents(most_apps=4, most_resources=8))
def test_load_of_least_stress_is_minimal(document: dict[str, Any]) -> None:
    workload = read(document)
    demands = demands_of(workload)
    least = io_load(demands, [demand.n_sys for demand in demands], workload.resources)
    for count in range(1, 9):
        other = io_load(demands, [min(count, demand.limit) for demand in demands], workload.resources)
        assert least <= other + 1e-12


def test_curve_interpolates_and_holds_below_the_smallest_count() -> None:
    curve = Curve((2, 4, 8), (10.0, 30.0, 10.0))
    assert [curve.at(count) for count in range(1, 9)] == [10, 10, 20, 30, 25, 20, 15, 10]


def test_flat_curve_ties_take_the_smallest_count() -> None:
    document: dict[str, Any] = {
        "resources": 8,
        "compute_nodes": 4,
        "applications": [
            {
                "name": "flat",
                "compute_nodes": 4,
                "bandwidth": {"0": 900.0, "1": 0.2, "2": 0.3, "4": 0.3, "8": 0.3},
                "phases": [{"compute_s": 1, "io_bytes": 1}],
            }
        ],
    }
    (demand,) = demands_of(read(document))
    assert (demand.n_perf, demand.n_sys) == (
        2,
        2 if reference.n_sys(document["applications"][0], document) == 2 else 1,
    )


def test_transfer_without_an_end_is_refused() -> None:
    document = {
        "resources": 4,
        "compute_nodes": 10,
        "applications": [
            {
                "name": "slow",
                "compute_nodes": 2,
                "bandwidth": {"1": 1e-300},
                "phases": [{"compute_s": 1, "io_bytes": 1e308}],
            }
        ],
    }
    with pytest.raises(DataError, match="take too long"):
        demands_of(read(document))
