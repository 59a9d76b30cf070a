"""Stations and networks whose answer is known in closed form."""

from __future__ import annotations

import pytest

from penstock.knobs import Setting
from penstock.simulate.kernel.records import READ
from penstock.simulate.kernel.rng import exponential, uniform
from penstock.simulate.kernel.ssd import end_work, start_work
from penstock.simulate.simulation import Simulation

from .conftest import Lab

PLAIN_DEVICE = {"read_ramp": "0", "read_spread": "0", "random_read_us": "0", "read_rpc_us": "0"}


def mean_response_us(made: Simulation, mean_gap_us: float, pages: list[int]) -> float:
    """Offer reads of given sizes to the device as a Poisson stream; the mean time from arrival to completion."""
    w = made.world
    now_us, total_us = 0.0, 0.0
    w.rpc.osc[0], w.rpc.file[0] = 0, 0
    for size in pages:
        now_us += exponential(w, 0, mean_gap_us)
        w.rpc.direction[0], w.rpc.pages[0], w.rpc.fragments[0] = READ, size, 1
        total_us += start_work(w, 0, 0, now_us) - now_us
        end_work(w, 0, 0)
    return total_us / len(pages)


def test_device_is_an_m_d_1_queue_when_nothing_else_is_modelled(lab: Lab) -> None:
    made = lab.simulation("s_rd_rn_8k", changes=PLAIN_DEVICE)
    service_us, load = 8.0, 0.7
    seen_us = mean_response_us(made, service_us / load, [1] * 40_000)
    assert seen_us == pytest.approx(service_us + load * service_us / (2 * (1 - load)), rel=0.03)


def test_device_follows_pollaczek_and_khinchine_for_mixed_sizes(lab: Lab) -> None:
    made = lab.simulation("s_rd_rn_8k", changes=PLAIN_DEVICE)
    sizes = [1 if uniform(made.world, 0) < 0.8 else 16 for _ in range(60_000)]
    mean = sum(sizes) / len(sizes) * 8.0
    square = sum(size * size for size in sizes) / len(sizes) * 64.0
    load = 0.6
    waiting_us = load / mean * square / (2 * (1 - load))
    assert mean_response_us(made, mean / load, sizes) == pytest.approx(mean + waiting_us, rel=0.05)


CERTAIN = {
    **PLAIN_DEVICE,
    "request_exponential_ratio": "0",
    "request_us": "500",
    "wake_us": "0",
    "read_call_us": "0",
    "read_copy_us_per_page": "0",
    "read_submit_us_per_page": "0",
    "build_read_us": "0",
    "drop_us_per_page": "0",
    "reply_us_per_page": "0",
    "checksum_us_per_page": "0",
}


def fixed_us(lab: Lab) -> float:
    cluster = lab.simulation("s_rd_rn_8k", changes=CERTAIN).plan.cluster
    pipe_us = 4096 / cluster.network.server_mb_per_s
    return (
        500.0
        + cluster.network.round_trip_us
        + cluster.client.reply_read_us
        + cluster.server.reply_us
        + pipe_us
    )


def test_one_customer_sees_the_sum_of_all_delays(lab: Lab) -> None:
    one_page = lab.workload("s_rd_rn_8k", request_bytes=4096, cache_bytes=4096)
    totals = lab.measure(one_page, Setting(pages=1, flight=8), CERTAIN)
    assert totals.rpc_usec / totals.rpcs == pytest.approx(fixed_us(lab) + 8.0, abs=1.0)
    assert 2e6 / totals.rpcs == pytest.approx(fixed_us(lab) + 8.0, rel=0.002)


@pytest.mark.parametrize("flight", [1, 7, 15, 63, 127, 255])
def test_deterministic_closed_network_obeys_its_two_bounds(lab: Lab, flight: int) -> None:
    customers, service_us = flight + 1, 8.0
    totals = lab.measure("s_rd_sq_16m", Setting(pages=1, flight=flight), CERTAIN, seconds=1.0, warmup_s=0.5)
    expected = min(customers / (fixed_us(lab) + service_us), 1 / service_us) * 1e6
    assert totals.rpcs == pytest.approx(expected, rel=0.03)
