"""What must hold in any queueing system, and in this one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.knobs import Setting
from penstock.simulate.kernel.counters import SENT, SENT_PAGES
from penstock.simulate.kernel.records import PAGE, WRITE
from penstock.simulate.kernel.states import FREE

from .conftest import Lab

PAGES = st.sampled_from([1, 2, 8, 64, 256, 1024])
FLIGHT = st.sampled_from([1, 4, 16, 64, 256])
WORKLOADS = st.sampled_from(
    ["s_wr_rn_8k", "s_wr_sq_1m", "s_wr_rn_1m", "s_rd_sq_8k", "s_rd_rn_1m", "f_wr_rn_1m"]
)
STEPS = st.lists(st.tuples(PAGES, FLIGHT), min_size=1, max_size=6)


@pytest.mark.slow
@given(name=WORKLOADS, steps=STEPS)
@settings(max_examples=10, deadline=None)
def test_grant_and_dirty_pages_are_conserved_through_any_settings(
    name: str, steps: list[tuple[int, int]]
) -> None:
    made = Lab().simulation(name)
    for number, (pages, flight) in enumerate(steps, 1):
        made.set_all(Setting(pages=pages, flight=flight))
        made.run_until(0.1 * number)
        w = made.world
        held = [0.0] * made.oscs
        dirty = [0] * made.oscs
        used = w.extent.state != FREE
        for e in used.nonzero()[0]:
            o = int(w.file.osc[w.extent.file[e]])
            held[o] += float(w.extent.grant_bytes[e])
            dirty[o] += int(w.extent.pages[e])
        for o in range(made.oscs):
            assert w.osc.grant_bytes[o] + held[o] == w.osc.grant_total_bytes[o]
            assert w.osc.dirty[o] == dirty[o]
            assert w.osc.reads[o] + w.osc.writes[o] <= 2 * 257


@pytest.mark.parametrize("name", ["s_wr_sq_1m", "s_rd_sq_1m", "s_rd_rn_8k"])
def test_littles_law_holds_between_counters_and_the_time_in_flight(lab: Lab, name: str) -> None:
    totals = lab.measure(name, Setting(pages=64, flight=16), seconds=6)
    # The `stats` time starts at the hand-off to the network, the slot is taken when the RPC is begun.
    assert totals.rpc_usec / 1e6 == pytest.approx(totals.flight_seconds, rel=0.08)


def test_bytes_written_are_dirty_in_flight_or_done(lab: Lab) -> None:
    made = lab.simulation("s_wr_sq_1m", Setting(pages=64, flight=8))
    made.run_until(0.7)
    w = made.world
    row = w.sums[WRITE]
    done = made.totals().rpc_bytes
    call = int(w.stream.cursor[0] - w.stream.begin[0]) if w.stream.busy[0] else 0
    written = float(w.client.write_bytes[0]) + call * PAGE
    assert written == done + float(w.osc.dirty[0]) * PAGE
    flying = (row[SENT] - made.totals().rpcs, row[SENT_PAGES] * PAGE - done)
    assert flying[0] == w.osc.writes[0]
    assert 0 <= flying[1] <= w.osc.dirty[0] * PAGE


def test_bytes_read_never_exceed_what_was_fetched(lab: Lab) -> None:
    made = lab.simulation("s_rd_sq_1m", Setting(pages=64, flight=8))
    made.run_until(1.0)
    assert 0 < made.totals().app_bytes <= made.totals().rpc_bytes


def test_a_second_seed_changes_the_run_and_the_same_seed_does_not(lab: Lab) -> None:
    traces = []
    for seed in (1, 1, 2):
        made = lab.simulation("s_rd_rn_1m", Setting(pages=16, flight=8), seed=seed)
        made.run_until(0.5)
        traces.append((int(made.world.trace[0]), made.totals()))
    assert traces[0] == traces[1]
    assert traces[0] != traces[2]


def test_stopping_halfway_changes_nothing(lab: Lab) -> None:
    whole, parts = (lab.simulation("s_rd_rn_1m", Setting(pages=8, flight=8)) for _ in range(2))
    whole.run_until(0.5)
    for step in range(1, 6):
        parts.run_until(0.1 * step)
    assert parts.totals().rpc_bytes == whole.totals().rpc_bytes
    assert parts.totals().app_bytes == whole.totals().app_bytes


def test_memory_does_not_grow_with_simulated_time(lab: Lab) -> None:
    made = lab.simulation("s_wr_rn_8k", Setting(pages=256, flight=16))
    addresses = made.world.table.copy()
    made.run_until(20.0)
    assert (made.world.table == addresses).all()
    assert (made.world.extent.state != FREE).sum() < made.world.extent.shape[0]


@pytest.mark.parametrize("cores", ["0", "8"])
@pytest.mark.parametrize("slow", ["client_mb_per_s", "server_mb_per_s"])
@pytest.mark.parametrize("name", ["s_wr_sq_1m", "s_wr_rn_8k", "s_rd_rn_1m", "s_rd_sq_1m"])
def test_no_setting_makes_a_link_carry_more_than_it_can(lab: Lab, name: str, slow: str, cores: str) -> None:
    """RPCs of up to 16 KiB carry their data in the request or the reply itself: that takes the wire's time too."""
    changes = {slow: "50", "client.cores": cores, "server.cores": cores}
    for pages, flight in ((1, 256), (4, 256), (4, 16), (1024, 8)):
        totals = lab.measure(name, Setting(pages=pages, flight=flight), changes, seconds=4.0)
        assert totals.rpc_bytes / 4.0 / 1e6 < 50 * 1.05


def test_short_request_waits_for_the_bulk_data_before_it(lab: Lab) -> None:
    """Four pages take 20 ms on a wire of .8 MB/s, in the request of a write as in the reply to a read."""
    changes = {"client_mb_per_s": "0.8192", "server_mb_per_s": "0.8192"}
    for name in ("s_wr_sq_1m", "s_rd_rn_1m"):
        totals = lab.measure(name, Setting(pages=4, flight=1), changes, seconds=8.0)
        assert totals.rpc_usec / totals.rpcs >= 20000.0
