"""Many clients: what they take from each other, and what none of them can make up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.evaluate.simulated import hold
from penstock.knobs import Setting
from penstock.simulate.assembly import Job
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.kernel.records import PAGE
from penstock.simulate.kernel.states import FREE
from penstock.workload import parse_workload

from .conftest import Lab


def at(pages: int, flight: int, dirty: int = 2000) -> Setting:
    return Setting(pages=pages, flight=flight, dirty=dirty)


def crowd(name: str, clients: int) -> list[Job]:
    return [Job(parse_workload(name), client) for client in range(clients)]


def page_latency_us(totals: object) -> float:
    return totals.rpc_usec / (totals.rpc_bytes / PAGE)  # type: ignore[attr-defined, no-any-return]


def test_five_random_readers_on_one_ost_gain_until_each_has_a_slot(lab: Lab) -> None:
    one_ost = {"ost_count": "1"}
    rates = [lab.mbps("f_rd_rn_8k", at(1024, flight), one_ost) for flight in (1, 2, 4, 16, 256)]
    assert rates[1] > 1.2 * rates[0]
    assert rates[2] > 1.2 * rates[1]
    assert rates[3:] == pytest.approx([rates[2]] * 2, rel=0.03)


def test_range_lock_of_2_15_takes_most_of_what_more_scattered_writes_in_flight_bring() -> None:
    def gain(version: str) -> float:
        plan = named_plan(builtin_cluster("c6525-25g").override({"version": version}), "s_wr_rn_8k", seed=1)
        few, many = (hold(plan, 2, 2, at(64, flight, 64)) for flight in (1, 16))
        return many.rpc_mbps / few.rpc_mbps

    assert gain("2.15") < 1.2
    assert gain("2.16") > 1.5


def test_one_clients_larger_flight_takes_share_and_adds_latency_for_all(lab: Lab) -> None:
    even = lab.each(lab.cluster(crowd("s_rd_sq_1m", 4), at(64, 8)), seconds=3, warmup_s=1)
    greedy_world = lab.cluster(crowd("s_rd_sq_1m", 4), at(64, 8))
    greedy_world.set(0, at(64, 64))
    greedy = lab.each(greedy_world, seconds=3, warmup_s=1)
    assert greedy[0].app_bytes > 1.3 * even[0].app_bytes
    assert all(
        after.app_bytes < 0.95 * before.app_bytes for after, before in zip(greedy[1:], even[1:], strict=False)
    )
    total = sum(one.app_bytes for one in greedy) / sum(one.app_bytes for one in even)
    assert total == pytest.approx(1.0, abs=0.05)
    for before, after in zip(even, greedy, strict=True):
        assert page_latency_us(after) > 1.1 * page_latency_us(before)


def test_at_saturation_one_clients_gain_is_the_others_loss(lab: Lab) -> None:
    even = lab.each(lab.cluster(crowd("s_wr_sq_1m", 3), at(256, 4, 64)), seconds=4, warmup_s=2)
    greedy_world = lab.cluster(crowd("s_wr_sq_1m", 3), at(256, 4, 64))
    greedy_world.set(0, at(256, 32, 256))
    greedy = lab.each(greedy_world, seconds=4, warmup_s=2)
    won = greedy[0].rpc_bytes - even[0].rpc_bytes
    lost = sum(one.rpc_bytes for one in even[1:]) - sum(one.rpc_bytes for one in greedy[1:])
    assert won > 0.3 * even[0].rpc_bytes
    assert lost == pytest.approx(won, rel=0.15)


def test_reads_wait_for_the_slots_that_writes_hold(lab: Lab) -> None:
    # The writer leaves the device time enough: what reads wait for are the slots.
    writer = Job(lab.workload("s_wr_sq_1m", think_s=0.02))
    reader = Job(parse_workload("s_rd_rn_1m"))

    def read_rate(jobs: list[Job], flight: int) -> float:
        made = lab.cluster(jobs, at(16, flight))
        made.run_until(1.0)
        before = int(made.world.client.read_bytes[0])
        made.run_until(4.0)
        return float(int(made.world.client.read_bytes[0]) - before)

    mixed = [read_rate([writer, reader], flight) for flight in (1, 4, 16)]
    assert mixed[0] < 0.9 * read_rate([reader], 1)
    assert mixed[1] > 1.2 * mixed[0]
    assert mixed[2] > 1.2 * mixed[0]


def test_two_osts_on_one_device_share_it_and_on_two_do_not(lab: Lab) -> None:
    jobs = [Job(parse_workload("s_rd_sq_1m"), client, osts=(client,)) for client in range(2)]
    together = lab.cluster(jobs, at(256, 8), {"ost_count": "2", "osts_per_device": "2"})
    apart = lab.cluster(jobs, at(256, 8), {"ost_count": "2", "osts_per_device": "1"})
    shared, own = (
        sum(one.app_bytes for one in lab.each(made, seconds=2, warmup_s=1)) for made in (together, apart)
    )
    assert own > 1.7 * shared


def test_few_threads_queue_what_many_would_serve(lab: Lab) -> None:
    rates = []
    for threads in ("1", "184"):
        made = lab.cluster(crowd("s_rd_rn_8k", 16), at(1024, 8), {"threads": threads})
        rates.append(sum(one.app_bytes for one in lab.each(made, seconds=1, warmup_s=0.5)))
    assert rates[1] > 1.5 * rates[0]


@given(
    name=st.sampled_from(["s_rd_sq_1m", "s_rd_rn_1m", "s_wr_sq_1m", "f_wr_rn_1m"]),
    clients=st.integers(2, 6),
    pages=st.sampled_from([16, 64, 256]),
    flight=st.sampled_from([2, 8, 32]),
)
@settings(max_examples=12, deadline=None)
def test_equal_clients_get_equal_shares_and_everything_is_conserved(
    name: str, clients: int, pages: int, flight: int
) -> None:
    lab = Lab()
    made = lab.cluster(crowd(name, clients), at(pages, flight, 64))
    each = lab.each(made, seconds=3.0, warmup_s=1.0)
    shares = [one.rpc_bytes for one in each]
    assert min(shares) > 0.75 * max(shares)
    assert sum(shares) == made.totals().rpc_bytes - sum(
        made.totals(c).rpc_bytes - one.rpc_bytes for c, one in enumerate(each)
    )
    w = made.world
    used = (w.extent.state != FREE) & (w.extent.grant_bytes > 0)
    for o in range(made.oscs):
        mine = used & (w.file.osc[w.extent.file] == o)
        assert w.osc.dirty[o] == w.extent.pages[mine].sum()
        assert w.osc.grant_bytes[o] + w.extent.grant_bytes[mine].sum() == w.osc.grant_total_bytes[o]
    assert list(w.client.dirty) == [int(w.osc.dirty[w.osc.client == c].sum()) for c in range(clients)]


def test_bytes_of_many_writers_are_done_dirty_or_in_a_call(lab: Lab) -> None:
    made = lab.cluster(crowd("s_wr_sq_1m", 5), at(64, 8, 64))
    made.run_until(1.7)
    w = made.world
    for client in range(5):
        busy = int(w.stream.cursor[client] - w.stream.begin[client]) if w.stream.busy[client] else 0
        written = int(w.client.write_bytes[client]) + busy * PAGE
        assert written == made.totals(client).rpc_bytes + int(w.osc.dirty[client]) * PAGE
