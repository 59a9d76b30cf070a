"""Processors, TCP and acknowledgements: what they cost is what their description says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.knobs import Setting
from penstock.simulate.assembly import Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.kernel.states import STOPPED
from penstock.simulate.script import Script, ScriptFile, Steps, Task
from penstock.simulate.simulation import Simulation
from penstock.units import MIB

from .conftest import Lab

# Nothing takes time but what a test names.
FREE = {
    "read_ramp": "0", "read_spread": "0", "random_read_us": "0", "read_rpc_us": "0", "read_us_per_page": "0",
    "write_rpc_us": "0", "write_us_per_page": "0", "write_latency_us": "0", "fragment_us": "0", "request_us": "0",
    "reply_us": "0", "checksum_us_per_page": "0", "map_us_per_fragment": "0", "wake_us": "0", "read_call_us": "0",
    "read_copy_us_per_page": "0", "read_submit_us_per_page": "0", "build_read_us": "0", "build_write_us": "0",
    "build_write_us_per_page": "0", "build_write_us_per_extent": "0", "reply_read_us": "0", "reply_write_us": "0",
    "reply_us_per_page": "0", "drop_us_per_page": "0", "write_call_us": "0", "round_trip_us": "0",
    "client_mb_per_s": "1e6", "server_mb_per_s": "1e6",
}  # fmt: skip


def test_one_core_of_the_client_bounds_rpcs_a_second(lab: Lab) -> None:
    changes = {**FREE, "client.cores": "1", "build_read_us": "300", "reply_read_us": "200"}
    totals = lab.measure("s_rd_sq_16m", Setting(pages=16, flight=64), changes)
    assert totals.rpcs == pytest.approx(2e6 / 500.0, rel=0.02)


def test_two_cores_serve_twice_as_many(lab: Lab) -> None:
    changes = {**FREE, "server.cores": "2", "request_us": "1000", "request_exponential_ratio": "0"}
    totals = lab.measure("s_rd_sq_16m", Setting(pages=16, flight=64), changes)
    assert totals.rpcs == pytest.approx(2 * 2e6 / 1000.0, rel=0.02)


def test_application_and_rpcs_share_a_core(lab: Lab) -> None:
    """A page costs 20 us to copy and 30 us to send: together they cannot exceed the core."""
    changes = {
        **FREE, "client.cores": "1", "write_new_us_per_page": "20", "write_over_us_per_page": "20",
        "client.send_us_per_page": "30",
    }  # fmt: skip
    totals = lab.measure("s_wr_sq_1m", Setting(pages=256, flight=8, dirty=32), changes)
    assert totals.app_bytes / 4096 == pytest.approx(2e6 / 50.0, rel=0.03)


def test_cost_without_cores_is_a_delay_that_nobody_shares(lab: Lab) -> None:
    changes = {**FREE, "read_copy_us_per_page": "20", "server.send_us_per_page": "30", "server.cores": "1"}
    totals = lab.measure("s_rd_sq_16m", Setting(pages=256, flight=64), changes)
    assert totals.app_bytes / 4096 == pytest.approx(2e6 / 30.0, rel=0.05)


def test_core_is_never_busier_than_time_passes(lab: Lab) -> None:
    changes = {"client.cores": "1", "server.cores": "1", "client.receive_us_per_page": "40"}
    made = lab.simulation("f_rd_rn_1m", Setting(pages=16, flight=16), changes)
    made.run_until(1.0)
    core = made.world.core
    assert len(core) == 1 + 4
    # What is still to be done has been counted already.
    done_us = core.busy_us - np.maximum(0.0, core.free_us - 1e6)
    assert (done_us <= 1e6 + 1.0).all()
    assert done_us[0] > 0.9e6


@pytest.mark.parametrize(("acknowledged", "round_trips"), [("0", 1), ("1", 2)])
def test_acknowledged_read_costs_a_round_trip_more(lab: Lab, acknowledged: str, round_trips: int) -> None:
    changes = {**FREE, "round_trip_us": "10000", "bulk_acknowledged": acknowledged, "client.cores": "1"}
    totals = lab.measure("s_rd_rn_1m", Setting(pages=256, flight=8), changes)
    assert totals.rpc_usec / totals.rpcs == pytest.approx(round_trips * 10000.0, rel=0.01)


def test_short_read_needs_no_acknowledgement(lab: Lab) -> None:
    changes = {**FREE, "round_trip_us": "10000", "bulk_acknowledged": "1"}
    totals = lab.measure("s_rd_rn_8k", Setting(pages=256, flight=8), changes)
    assert totals.rpc_usec / totals.rpcs == pytest.approx(10000.0, rel=0.01)


def test_receiver_copies_while_the_wire_brings_more(lab: Lab) -> None:
    """256 pages at 50 MB/s take 21 ms, copying them 13 ms: together little more than the longer of both."""
    changes = {
        **FREE, "client_mb_per_s": "50", "server_mb_per_s": "50", "client.cores": "1",
        "client.receive_us_per_page": "50",
    }  # fmt: skip
    totals = lab.measure("s_rd_rn_1m", Setting(pages=256, flight=8), changes)
    wire_us, last_us = MIB / 50.0, 16 * 50.0
    assert totals.rpc_usec / totals.rpcs == pytest.approx(wire_us + last_us, rel=0.01)


@pytest.mark.parametrize(
    ("changes", "mbps"),
    [
        ({"window_mib": "1"}, 1.048576 / 0.02),
        ({"queue_mib": "1", "server_mb_per_s": "100"}, 100.0),
        ({"queue_mib": "0.1", "server_mb_per_s": "100"}, 0.85 * (100 * 0.02 + 0.1048576) / 0.02),
    ],
)
def test_tcp_carries_a_window_every_round_trip(lab: Lab, changes: dict[str, str], mbps: float) -> None:
    seen = lab.mbps(
        "s_rd_sq_16m",
        Setting(pages=1024, flight=16),
        {**FREE, "round_trip_us": "20000", "peer_credits": "128", **changes},
        seconds=4.0,
    )
    assert seen == pytest.approx(mbps, rel=0.05)


def test_reading_the_counters_takes_the_clients_time(lab: Lab) -> None:
    made = lab.simulation("s_rd_rn_1m", None, {"client.cores": "1", "observe_us": "5000"})
    made.run_until(0.1)
    before_us = float(made.world.core.busy_us[0])
    made.look(0)
    assert float(made.world.core.busy_us[0]) == before_us + 5000.0


def test_task_that_flushes_stops_when_all_is_on_the_server() -> None:
    steps = Steps((file := ScriptFile(64 * MIB),))
    steps.write(0, 0, MIB, count=64)
    script = Script("held", (file,), (Task(0, steps.ops, stop_s=0.2, flushes=True),))
    slow = {"write_us_per_page": "100", "client.cores": "1"}
    made = Simulation(Plan(builtin_cluster("c220g5").override(slow), (), 1, 1, scripts=(script,)))
    made.run_until(0.2)
    assert made.world.osc.dirty.sum() > 1000
    made.run_until(20.0)
    stream = made.world.stream
    assert stream.mode[0] == STOPPED
    assert made.world.osc.dirty.sum() == 0
    written_us = float(stream.call_us[0])
    assert made.totals().app_bytes / 4096 * 100.0 == pytest.approx(written_us, rel=0.2)


@pytest.mark.parametrize("in_turn", ["0", "1"])
def test_lost_and_evicted_rpcs_end_where_processors_are_modelled(lab: Lab, in_turn: str) -> None:
    work = lab.workload("s_wr_rn_1m", file_bytes=64 * MIB)
    cores = {
        "client.cores": "1", "server.cores": "1", "bulk_acknowledged": "1", "timeout_s": "0.2",
        "replies_in_turn": in_turn,
    }  # fmt: skip
    made = lab.simulation(work, None, cores)
    plan = replace(made.plan, faults=lab.faults("fail:ost=0:at=0.2:for=0.5", "evict:client=0:ost=0:at=1.2"))
    made = Simulation(plan)
    made.run_until(3.0)
    assert made.world.osc.evictions[0] == 1
    moved = made.totals().rpcs
    made.run_until(4.0)
    assert made.totals().rpcs > moved + 10
    assert 0 <= made.world.osc.writes[0] <= 9


def test_page_that_the_call_asks_for_costs_more_than_one_read_ahead(lab: Lab) -> None:
    costly = {**FREE, "client.cores": "1", "read_demand_us_per_page": "50", "read_submit_us_per_page": "10"}
    asked = lab.measure("s_rd_rn_1m", Setting(pages=256, flight=8), costly)
    assert asked.app_bytes / 4096 == pytest.approx(2e6 / 60.0, rel=0.1)
    ahead = lab.measure("s_rd_sq_8k", Setting(pages=256, flight=8), costly)
    assert ahead.app_bytes / 4096 > 2e6 / 20.0


def test_latency_does_not_count_what_is_done_to_pages_after_the_reply(lab: Lab) -> None:
    changes = {**FREE, "client.cores": "1", "reply_us_per_page": "100", "round_trip_us": "1000"}
    totals = lab.measure("s_rd_rn_1m", Setting(pages=256, flight=8), changes)
    assert totals.rpc_usec / totals.rpcs == pytest.approx(1000.0, rel=0.05)
    assert totals.rpcs == pytest.approx(2e6 / (1000.0 + 25600.0), rel=0.05)


def test_messages_of_parallel_rpcs_take_turns(lab: Lab) -> None:
    """Four reads of 4 MiB sent together: if each went alone, the first would be done in a quarter of the time."""
    changes = {**FREE, "client_mb_per_s": "50", "server_mb_per_s": "50", "client.cores": "1"}
    work = lab.workload("s_rd_rn_16m")
    totals = lab.measure(work, Setting(pages=1024, flight=8), changes, seconds=8.0)
    together_us = 16 * MIB / 50.0
    assert totals.rpc_usec / totals.rpcs > 0.8 * together_us


def test_data_of_reads_leaves_rpc_by_rpc_where_it_says_so(lab: Lab) -> None:
    """Four reads of 4 MiB sent together: one after the other they take 1, 2, 3 and 4 quarters of the time."""
    changes = {
        **FREE, "client_mb_per_s": "50", "server_mb_per_s": "50", "client.cores": "1", "reads_in_order": "1",
    }  # fmt: skip
    totals = lab.measure("s_rd_rn_16m", Setting(pages=1024, flight=8), changes, seconds=8.0)
    together_us = 16 * MIB / 50.0
    assert totals.rpc_usec / totals.rpcs == pytest.approx(10 / 16 * together_us, rel=0.02)


def test_daemon_comes_to_one_reply_after_the_other(lab: Lab) -> None:
    """Four replies of 1,024 pages are in at once: each is noted when the pages of those before are dealt with."""
    changes = {
        **FREE, "client.cores": "1", "round_trip_us": "10000", "reply_us_per_page": "100", "replies_in_turn": "1",
        "peer_credits": "128",
    }  # fmt: skip
    totals = lab.measure("s_rd_rn_16m", Setting(pages=1024, flight=8), changes, seconds=8.0)
    noted_us = [10000.0 + before * 102400.0 for before in range(4)]
    assert totals.rpc_usec / totals.rpcs == pytest.approx(sum(noted_us) / 4, rel=0.03)
    assert totals.rpcs == pytest.approx(4 * 8e6 / (10000.0 + 4 * 102400.0), abs=4)


@pytest.mark.parametrize(("in_turn", "all_in"), [("0", False), ("1", True)])
def test_network_goes_on_while_the_daemon_deals_with_pages(lab: Lab, in_turn: str, all_in: bool) -> None:
    """The wire brings 4 MiB in 84 ms, their pages take 205: in turn, all reads are in when the wire is done."""
    changes = {
        **FREE, "client_mb_per_s": "50", "server_mb_per_s": "50", "client.cores": "1", "reads_in_order": "1",
        "client.receive_us_per_page": "1", "reply_us_per_page": "200", "replies_in_turn": in_turn,
    }  # fmt: skip
    made = lab.simulation("s_rd_rn_16m", Setting(pages=1024, flight=8), changes)
    made.run_until(16 * MIB / 50e6 + 0.02)
    assert (int(made.world.rpc.received.sum()) == 16 * MIB // 4096) is all_in


def test_exponential_work_has_the_same_mean_and_more_waiting(lab: Lab) -> None:
    steady = {**FREE, "server.cores": "1", "request_us": "1000", "request_exponential_ratio": "0"}
    varied = {**steady, "server.work_exponential_ratio": "1"}
    few = Setting(pages=16, flight=4)
    slots = {"round_trip_us": "4000"}
    regular = lab.measure("s_rd_sq_16m", few, {**steady, **slots}, seconds=20.0)
    random = lab.measure("s_rd_sq_16m", few, {**varied, **slots}, seconds=20.0)
    assert random.rpcs < 0.9 * regular.rpcs
    many = lab.measure("s_rd_sq_16m", Setting(pages=16, flight=64), varied, seconds=20.0)
    assert many.rpcs == pytest.approx(20e6 / 1000.0, rel=0.03)


def test_small_message_passes_bulk_that_is_not_under_way_yet(lab: Lab) -> None:
    """Sixteen reads of 1 MiB sent together: replies that wait behind all of their data come at the end, together."""
    changes = {
        **FREE, "client_mb_per_s": "50", "server_mb_per_s": "50", "client.cores": "1", "bulk_acknowledged": "1",
    }  # fmt: skip
    together = lab.measure("s_rd_rn_16m", Setting(pages=256, flight=16), changes, seconds=8.0)
    passing = lab.measure(
        "s_rd_rn_16m", Setting(pages=256, flight=16), {**changes, "ahead_mib": "1"}, seconds=8.0
    )
    all_us = 16 * MIB / 50.0
    assert together.rpc_usec / together.rpcs > 0.9 * all_us
    assert passing.rpc_usec / passing.rpcs < 0.7 * all_us


@pytest.mark.parametrize(("in_order", "first_of_all"), [("0", (0.6, 1.1)), ("1", (0.1, 0.4))])
def test_data_of_writes_leaves_rpc_by_rpc_where_it_says_so(
    lab: Lab, in_order: str, first_of_all: tuple[float, float]
) -> None:
    """Eight writes of 4 MiB are asked for together: in order the first is done long before the last."""
    changes = {
        **FREE, "write_new_us_per_page": "0", "write_over_us_per_page": "0", "client_mb_per_s": "50",
        "server_mb_per_s": "50", "client.cores": "1", "ahead_mib": "1", "writes_in_order": in_order,
    }  # fmt: skip
    made = lab.simulation("s_wr_sq_16m", Setting(pages=1024, flight=7, dirty=32), changes)
    all_s = 32 * MIB / 50e6
    while made.totals().rpcs == 0.0:
        made.run_until(made.now_s + 0.01)
    low, high = first_of_all
    assert low * all_s <= made.now_s <= high * all_s
