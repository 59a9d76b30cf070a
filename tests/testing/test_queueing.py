"""The smallest target: exact throughput of a delay and one server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.queueing import Hardware, Load, QueueingTarget, closed_network

from penstock.knobs import Setting

positive = st.floats(1e-5, 1e-1)


def repairman(customers: int, delay_s: float, service_s: float) -> float:
    """The machine-repairman formula: the same network, solved through its state probabilities."""
    weights = [1.0]
    for present in range(1, customers + 1):
        weights.append(weights[-1] * (customers - present + 1) * service_s / delay_s)
    return (1.0 - weights[0] / sum(weights)) / service_s


@given(st.integers(1, 40), positive, positive)
def test_closed_network_equals_the_machine_repairman_formula(
    customers: int, delay_s: float, service_s: float
) -> None:
    throughput, _ = closed_network(customers, delay_s, service_s)
    assert throughput == pytest.approx(repairman(customers, delay_s, service_s), rel=1e-6)


@given(st.integers(1, 256), positive, positive)
def test_closed_network_obeys_its_bounds_and_little(n: int, delay_s: float, service_s: float) -> None:
    throughput, residence_s = closed_network(n, delay_s, service_s)
    assert throughput <= min(1 / service_s, n / (delay_s + service_s)) * (1 + 1e-9)
    assert throughput * residence_s == pytest.approx(n)


def make(seed: int = 1) -> QueueingTarget:
    return QueueingTarget(Hardware(1e9, 1e-4, 0.05), [Load(0.0, 1 << 20, 5e-3)], seed)


def bytes_after(world: QueueingTarget, seconds: float) -> float:
    world.sleep_until(seconds)
    return world.observe().targets[0].counters["write.bytes"]


def test_queueing_target_same_seed_same_counters() -> None:
    assert bytes_after(make(3), 2.0) == bytes_after(make(3), 2.0) != bytes_after(make(4), 2.0)


def test_queueing_target_gains_from_requests_in_flight_until_the_server_is_full() -> None:
    moved = []
    for flight in (1, 8, 64, 256):
        world = make()
        world.set(world.target, Setting(flight=flight))
        moved.append(bytes_after(world, 5.0))
    assert moved[1] > 3 * moved[0]
    assert moved[3] == pytest.approx(moved[2], rel=0.02)


def test_queueing_target_restores_what_was_there() -> None:
    world = make()
    before = world.get(world.target)
    world.set(world.target, Setting(pages=1, flight=1))
    assert world.restore(world.target).actual == before == world.get(world.target)
