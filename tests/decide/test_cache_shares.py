"""Algorithm 2 and the node's hard limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.decide.budget import CacheBudget
from penstock.decide.cache_shares import Demand, DemandHistory, allocate, as_printed, sparing
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.units import MIB
from penstock.window import Window

A, B, C = (Target(f"fs-OST000{i}-osc-1", "fs", f"OST000{i}") for i in range(3))


def test_cache_gives_everybody_the_most_when_the_node_can() -> None:
    limits = allocate({A: Demand(), B: Demand()}, [C], CacheBudget(4200))
    assert limits == {A: 2047, B: 2047, C: 32}


def test_cache_takes_the_largest_of_three_factors() -> None:
    budget = CacheBudget(2000)
    busy = Demand(write_bytes=3e9, peak_dirty_bytes=100 * MIB, peak_flight_bytes=40 * MIB)
    calm = Demand(write_bytes=1e9, peak_dirty_bytes=10 * MIB, peak_flight_bytes=300 * MIB)
    # Printed: b(1500 MiB) = 2047 and b(500 MiB) = 512; their sum passes the budget, so the larger steps down.
    assert allocate({A: busy, B: calm}, [], budget) == {A: 1024, B: 512}


def test_cache_of_a_node_that_wrote_nothing_follows_the_peaks() -> None:
    limits = allocate({A: Demand(peak_dirty_bytes=60 * MIB), B: Demand()}, [], CacheBudget(1000))
    assert limits == {A: 64, B: 32}


def test_printed_allocation_is_algorithm_2_to_the_letter() -> None:
    busy = Demand(write_bytes=3e9, peak_dirty_bytes=100 * MIB, peak_flight_bytes=40 * MIB)
    calm = Demand(write_bytes=1e9, peak_dirty_bytes=10 * MIB, peak_flight_bytes=300 * MIB)
    assert as_printed({A: busy, B: calm}, [C], CacheBudget(2000)) == {A: 2047, B: 512, C: 32}


def test_demand_history_keeps_the_last_stage_beside_the_present_one() -> None:
    seen = DemandHistory()

    def take(i: int, write: float, *, resumed: bool = False) -> None:
        metrics = {"write.bytes": write, "dirty.bytes": write / 10}
        seen.take(Window(A, i / 2, i / 2 + 0.5, LUSTRE.default, metrics), write / 1e9, resumed=resumed)

    take(0, 1e8, resumed=True)
    assert (seen.demand.write_bytes, seen.demand.windows) == (1e8, 1)
    take(1, 5e8)
    take(9, 1e6, resumed=True)
    assert (seen.demand.write_bytes, seen.demand.peak_dirty_bytes, seen.demand.fullest) == (6.01e8, 5e7, 0.5)
    take(20, 2e6, resumed=True)
    assert seen.demand.write_bytes == 3e6


def test_sparing_raises_who_reached_the_limit_at_the_expense_of_the_idle() -> None:
    full, calm = Demand(1e9, 250 * MIB, 0.0), Demand(1e9, 10 * MIB, 0.0)
    held = {A: 256.0, B: 256.0, C: 1024.0}
    budget = CacheBudget(1600)
    shares = allocate({A: full, B: calm}, [C], budget)
    assert shares[A] > 256
    assert sparing(shares, held, {A: full, B: calm}, budget) == {A: shares[A], C: 32}


@pytest.mark.parametrize(
    ("peak_mib", "node_mib"), [(100, 4000), (250, 500)], ids=["nobody is held up", "no room"]
)
def test_sparing_changes_nothing_where_nothing_is_won(peak_mib: int, node_mib: int) -> None:
    active, budget = {A: Demand(1e9, peak_mib * MIB, 0.0), B: Demand(1e9, 0.0, 0.0)}, CacheBudget(node_mib)
    assert sparing(allocate(active, [], budget), {A: 256.0, B: 256.0}, active, budget) == {}


@given(st.lists(st.tuples(st.floats(0, 4e9), st.sampled_from((32, 256, 2000))), min_size=1, max_size=6))
def test_sparing_takes_nothing_from_a_target_at_work(busy: list[tuple[float, int]]) -> None:
    targets = [Target(f"t{i}", "fs") for i in range(len(busy))]
    active = {t: Demand(1e9, peak, 0.0) for t, (peak, _) in zip(targets, busy, strict=True)}
    held = {t: float(limit) for t, (_, limit) in zip(targets, busy, strict=True)}
    budget = CacheBudget(3000)
    limits = sparing(allocate(active, [], budget), held, active, budget)
    assert all(limit > held[target] for target, limit in limits.items())


demands = st.builds(Demand, st.floats(0, 1e12), st.floats(0, 4e9), st.floats(0, 4e9))


@given(st.lists(demands, min_size=1, max_size=8), st.integers(0, 4), st.integers(32, 20000))
def test_cache_sum_stays_within_the_node_budget(active: list[Demand], idle: int, node_mib: int) -> None:
    targets = [Target(f"t{i}", "fs") for i in range(len(active) + idle)]
    limits = allocate(dict(zip(targets, active, strict=False)), targets[len(active) :], CacheBudget(node_mib))
    assert set(limits) == set(targets)
    assert all(value in CacheBudget(0).values_mib for value in limits.values())
    assert sum(limits.values()) <= max(node_mib, 32 * len(targets))


def test_demand_gathers_volume_and_peaks() -> None:
    demand = Demand()
    metrics = {
        "write.bytes": 5e7,
        "dirty.bytes": 1000.0 * MIB,
        "write.rpcs": 5e7 / (1024 * 4096),
        "write.usec": 8 * 0.5e6,
    }
    demand.take(Window(A, 0.0, 0.5, LUSTRE.default, metrics))
    demand.take(Window(A, 0.5, 1.0, LUSTRE.default, {**metrics, "dirty.bytes": 200.0 * MIB}))
    assert demand.write_bytes == 1e8
    assert demand.peak_dirty_bytes == 1000 * MIB
    assert demand.peak_flight_bytes == pytest.approx(8 * 1024 * 4096)
