"""Algorithm 2 and the node's hard limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.decide.cache import CacheBudget, Demand, allocate
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
        "dirty.utilisation": 0.5,
        "write.channel_utilisation": 1.0,
        "write.page_utilisation": 1.0,
    }
    demand.take(Window(A, 0.0, 0.5, LUSTRE.default, metrics))
    demand.take(Window(A, 0.5, 1.0, LUSTRE.default, {**metrics, "dirty.utilisation": 0.1}))
    assert demand.write_bytes == 1e8
    assert demand.peak_dirty_bytes == 1000 * MIB
    assert demand.peak_flight_bytes == 8 * 1024 * 4096
