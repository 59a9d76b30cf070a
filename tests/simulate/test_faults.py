"""Events from outside: as data, in what they do to bytes and counters, and as a client sees them."""

from __future__ import annotations

import itertools

import pytest

from penstock.errors import UsageError
from penstock.knobs import Setting
from penstock.simulate.assembly import Job
from penstock.simulate.faults import Fault, parse_fault
from penstock.simulate.kernel.records import PAGE
from penstock.simulate.probe import Probe
from penstock.simulate.simulation import Simulation
from penstock.window import VoidReason, why_void
from penstock.workload import parse_workload

from .conftest import Lab

BASE = Setting(pages=256, flight=8)
QUICK = {"timeout_s": "0.2"}


def rate(made: Simulation, start_s: float, end_s: float, client: int = 0) -> float:
    made.run_until(start_s)
    before = made.totals(client).rpc_bytes
    made.run_until(end_s)
    return (made.totals(client).rpc_bytes - before) / (end_s - start_s) / 1e6


def reader(lab: Lab, *events: str, workload: str = "s_rd_sq_1m", **changes: str) -> Simulation:
    return lab.cluster([Job(parse_workload(workload))], BASE, {**QUICK, **changes}, events)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("slow:ost=0:at=1:for=1:factr=2", "factor"),
        ("slo:ost=0:at=1:for=1:factor=2", "slow"),
        ("slow:ost=0:at=1:factor=2", "for="),
        ("slow:ost=0:at=1:for=1:factor=two", "factor=two"),
        ("slow:ost=0:at=-1:for=1:factor=2", "at=-1"),
        ("slow:ost=0.5:at=1:for=1:factor=2", "whole"),
        ("slow:ost=0:oss=0:at=1:for=1:factor=2", "not both"),
        ("fail:ost=0:at=1:at=2:for=1", "twice"),
        ("evict:ost=0:at=1", "client="),
        ("load:ost=0:at=1:for=nan:mbps=3", "for=nan"),
    ],
)
def test_event_that_makes_no_sense_is_refused_by_name(text: str, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        parse_fault(text)


def test_event_words_say_what_the_data_says() -> None:
    assert parse_fault("slow:ost=3:at=10:for=20:factor=5") == Fault("slow", 10.0, 20.0, ost=3, factor=5.0)
    assert parse_fault("fail:oss=1:at=2s:for=5s").osts(8, 2) == range(2, 4)
    assert parse_fault("load:at=1:for=2:mbps=50:write=1").osts(3, 2) == range(3)


@pytest.mark.parametrize(
    "event", ["slow:ost=9:at=1:for=1:factor=2", "fail:oss=4:at=1:for=1", "evict:client=7:at=1"]
)
def test_event_for_something_that_is_not_there_is_refused(lab: Lab, event: str) -> None:
    with pytest.raises(UsageError, match=r"there are|the cluster has"):
        reader(lab, event)


def test_slow_ost_is_slow_for_a_while_and_then_as_fast_as_before(lab: Lab) -> None:
    made = reader(lab, "slow:ost=0:at=1:for=1:factor=4")
    before, during, after = rate(made, 0.5, 1.0), rate(made, 1.2, 2.0), rate(made, 2.3, 3.3)
    assert during == pytest.approx(before / 4, rel=0.15)
    assert after == pytest.approx(before, rel=0.1)


def test_slow_factors_multiply_where_they_overlap(lab: Lab) -> None:
    made = reader(lab, "slow:ost=0:at=0:for=9:factor=2", "slow:ost=0:at=1:for=1:factor=3")
    made.run_until(1.5)
    assert made.world.ost.slow[0] == 6
    made.run_until(2.5)
    assert made.world.ost.slow[0] == 2


def test_foreign_load_takes_its_part_of_the_device_and_no_more_than_it_can_queue(lab: Lab) -> None:
    alone = rate(reader(lab), 0.5, 2.0)
    light = rate(reader(lab, "load:ost=0:at=0:for=9:mbps=100"), 0.5, 2.0)
    heavy = rate(reader(lab, "load:ost=0:at=0:for=9:mbps=5000:depth=4"), 0.5, 2.0)
    assert 0.6 * alone < light < 0.9 * alone
    # First come, first served: four requests of theirs to nine of ours.
    assert 0.5 * alone < heavy < 0.9 * light


def test_failed_ost_stops_everything_and_nothing_is_lost(lab: Lab) -> None:
    made = reader(lab, "fail:ost=0:at=1:for=1", workload="s_wr_sq_1m")
    before, during, after = rate(made, 0.5, 1.0), rate(made, 1.1, 2.0), rate(made, 2.2, 4.0)
    assert (during, made.lost_bytes()) == (0.0, 0)
    assert after > 0.8 * before
    w = made.world
    busy = int(w.stream.cursor[0] - w.stream.begin[0]) if w.stream.busy[0] else 0
    assert int(w.client.write_bytes[0]) + busy * PAGE == made.totals().rpc_bytes + int(w.osc.dirty[0]) * PAGE


def test_outage_shorter_than_the_timeout_is_noticed_by_those_who_wait(lab: Lab) -> None:
    made = reader(lab, "fail:ost=0:at=1:for=0.05", timeout_s="0.5")
    made.run_until(1.4)
    assert made.import_state(0) == "FULL"
    stuck = made.totals().rpc_bytes
    made.run_until(2.5)
    assert made.totals().rpc_bytes > stuck
    assert made.world.osc.generation[0] == 1


def test_client_sees_the_connection_go_and_come_back(lab: Lab) -> None:
    probe = Probe(reader(lab, "fail:ost=0:at=1:for=1"))
    states, snapshots = [], []
    for step in range(1, 13):
        probe.sleep_until(0.25 * step)
        seen = probe.observe().targets[0]
        snapshots.append(seen)
        states.append(seen.state)
    assert states[:4] == ["FULL"] * 4
    assert "DISCONN" in states
    assert states[-1] == "FULL"
    void = [why_void(a, b) for a, b in itertools.pairwise(snapshots)]
    assert VoidReason.DISCONNECTED in void
    assert VoidReason.RESTARTED in void
    assert void[-1] is None


def test_eviction_loses_what_was_dirty_and_counts_it(lab: Lab) -> None:
    made = reader(lab, "evict:client=0:ost=0:at=1", workload="s_wr_sq_1m")
    made.run_until(0.999)
    dirty = int(made.world.osc.dirty[0]) * PAGE
    grant = float(made.world.osc.grant_total_bytes[0])
    made.run_until(1.0001)
    assert made.import_state(0) == "EVICTED"
    assert made.lost_bytes() == pytest.approx(dirty, rel=0.05)
    assert made.world.osc.dirty[0] == made.world.client.dirty[0] == 0
    made.run_until(4.0)
    w = made.world
    assert made.import_state(0) == "FULL"
    assert (int(w.osc.generation[0]), int(w.osc.evictions[0])) == (2, 1)
    assert w.osc.grant_total_bytes[0] == grant
    busy = int(w.stream.cursor[0] - w.stream.begin[0]) if w.stream.busy[0] else 0
    done = made.totals().rpc_bytes + int(w.osc.dirty[0]) * PAGE + made.lost_bytes()
    assert int(w.client.write_bytes[0]) + busy * PAGE == done


def test_evicted_reader_starts_with_an_empty_cache_and_falling_counters_never(lab: Lab) -> None:
    made = reader(lab, "evict:client=0:ost=0:at=1:for=0.5", **{})
    probe = Probe(made)
    probe.sleep_until(0.99)
    before = probe.observe().targets[0]
    probe.sleep_until(1.2)
    during = probe.observe().targets[0]
    assert (during.state, made.world.client.cached[0]) == ("EVICTED", 0)
    probe.sleep_until(3.0)
    after = probe.observe().targets[0]
    assert all(
        before.counters[name] <= during.counters[name] <= after.counters[name] for name in after.counters
    )
    assert after.counters["read.bytes"] > before.counters["read.bytes"]
    assert before.epoch != after.epoch


def test_eviction_of_one_client_leaves_the_others_alone(lab: Lab) -> None:
    jobs = [Job(parse_workload("s_wr_rn_1m"), client, shared="f") for client in range(3)]
    made = lab.cluster(jobs, BASE.replace(dirty=64), QUICK, ["evict:client=1:ost=0:at=0.7:for=0.5"])
    made.run_until(3.0)
    assert made.lost_bytes(0) == made.lost_bytes(2) == 0
    assert list(made.world.osc.generation) == [0, 2, 0]
    before = [int(calls) for calls in made.world.client.write_calls]
    made.run_until(5.0)
    assert all(int(now) > then for now, then in zip(made.world.client.write_calls, before, strict=True))


@pytest.mark.parametrize("workload", ["s_wr_rn_8k", "f_rd_rn_1m", "f_wr_rn_1m", "s_rd_sq_8k"])
def test_a_storm_of_events_leaves_a_world_that_works(lab: Lab, workload: str) -> None:
    events = [f"evict:client={n % 3}:at={0.3 + 0.11 * n}" for n in range(8)]
    events += [f"fail:ost={n % 2}:at={0.2 + 0.37 * n}:for=0.15" for n in range(4)]
    events += ["slow:oss=0:at=0.1:for=2:factor=3", "load:at=0:for=2:mbps=80:kib=64"]
    jobs = [Job(parse_workload(workload), client) for client in range(3)]
    made = lab.cluster(jobs, BASE, {**QUICK, "ost_count": "2", "timeout_s": "0.1"}, events)
    made.run_until(3.0)
    assert {made.import_state(o) for o in range(made.oscs)} == {"FULL"}
    before = [made.totals(client).app_bytes for client in range(3)]
    made.run_until(5.0)
    assert all(made.totals(client).app_bytes > before[client] for client in range(3))
    w = made.world
    assert (w.osc.reads >= 0).all()
    assert (w.osc.writes >= 0).all()
    assert list(w.client.dirty) == [int(w.osc.dirty[w.osc.client == c].sum()) for c in range(3)]


def test_client_evicted_by_an_ost_that_then_goes_silent_comes_back(lab: Lab) -> None:
    made = reader(lab, "fail:ost=0:at=0.05:for=0.1", "evict:client=0:ost=0:at=0.1", timeout_s="0.04")
    made.run_until(0.3)
    assert made.import_state(0) == "FULL"
    before = made.totals().rpc_bytes
    made.run_until(0.4)
    assert made.totals().rpc_bytes > before


def test_same_events_same_trace(lab: Lab) -> None:
    events = ["load:ost=0:at=0:for=9:mbps=90", "slow:ost=0:at=0.2:for=0.3:factor=2"]
    traces = []
    for _ in range(2):
        made = reader(lab, *events)
        made.run_until(1.0)
        traces.append(int(made.world.trace[0]))
    assert traces[0] == traces[1]
