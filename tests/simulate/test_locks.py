"""Files that several clients share: who may touch which pages, and what a conflict costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.knobs import Setting
from penstock.simulate.assembly import Job
from penstock.simulate.kernel.records import NONE, READ, WRITE
from penstock.simulate.kernel.states import FREE, LOCK_HELD
from penstock.simulate.simulation import Simulation
from penstock.units import MIB
from penstock.workload import Workload, parse_workload

from .conftest import Lab

BASE = Setting(pages=256, flight=8)


def small(name: str, **changes: float) -> Workload:
    shrunk = replace(parse_workload(name), file_bytes=256 * MIB, cache_bytes=512 * MIB)
    return replace(shrunk, **changes)  # type: ignore[arg-type]


def held_locks(made: Simulation) -> list[tuple[int, int, int, int]]:
    """Every lock the OST has granted: its file, direction and range."""
    found, lock = [], made.world.lock
    k = int(made.world.file.lock_head[0])
    while k != NONE:
        found.append((int(lock.file[k]), int(lock.direction[k]), int(lock.low[k]), int(lock.high[k])))
        k = int(lock.next[k])
    return found


def test_shared_file_writers_suffer_from_larger_max_dirty(lab: Lab) -> None:
    calls = []
    for dirty in (32, 1000):
        streamer = Job(parse_workload("s_wr_sq_1m"), 0, shared="log")
        visitor = Job(replace(parse_workload("s_wr_rn_1m"), think_s=0.3), 1, shared="log")
        made = lab.cluster([streamer, visitor], BASE.replace(dirty=dirty))
        made.run_until(15.0)
        calls.append(int(made.world.client.write_calls[1]))
    assert calls[0] > 2 * calls[1]


def test_ping_pong_costs_what_private_files_do_not(lab: Lab) -> None:
    rates = []
    for shared in ("", "one"):
        jobs = [Job(small("s_wr_rn_1m"), client, shared=shared) for client in range(2)]
        rates.append(sum(one.app_bytes for one in lab.each(lab.cluster(jobs, BASE), 3.0, 1.0)))
    assert rates[1] < 0.7 * rates[0]


def test_readers_share_a_lock_and_a_writer_calls_it_back(lab: Lab) -> None:
    readers = [Job(small("s_rd_sq_1m"), client, shared="f") for client in range(3)]
    made = lab.cluster(readers, BASE)
    made.run_until(1.0)
    assert sorted(held_locks(made)) == [(client, READ, 0, 65535) for client in range(3)]
    cached = made.totals().rpc_bytes
    made.run_until(2.0)
    assert made.totals().rpc_bytes <= cached + 3 * 256 * MIB
    mixed = lab.cluster([*readers, Job(small("s_wr_rn_1m", think_s=0.05), 3, shared="f")], BASE)
    mixed.run_until(4.0)
    assert mixed.totals().rpc_bytes > 1.5 * 3 * 256 * MIB


def test_a_file_one_client_has_for_itself_needs_no_lock(lab: Lab) -> None:
    several = lab.cluster([Job(small("f_wr_rn_1m"), 0, shared="mine")], BASE)
    several.run_until(1.0)
    assert several.world.file.shape[0] == 1
    assert held_locks(several) == []
    assert several.totals().app_bytes > 100e6


@given(
    names=st.lists(
        st.sampled_from(["s_wr_sq_1m", "s_wr_rn_1m", "s_rd_rn_1m", "s_rd_sq_8k"]), min_size=2, max_size=4
    ),
    dirty=st.sampled_from([4, 64]),
    flight=st.sampled_from([1, 16]),
)
@settings(max_examples=10, deadline=None)
def test_no_two_clients_hold_conflicting_locks_or_dirty_the_same_page(
    names: list[str], dirty: int, flight: int
) -> None:
    jobs = [Job(small(name), client, shared="f") for client, name in enumerate(names)]
    made = Lab().cluster(jobs, Setting(pages=64, flight=flight, dirty=dirty))
    for step in range(1, 16):
        made.run_until(0.05 * step)
        w = made.world
        locks = held_locks(made)
        for number, (file, direction, low, high) in enumerate(locks):
            for other, way, start, end in locks[number + 1 :]:
                if file != other and WRITE in (direction, way):
                    assert high < start or end < low
        dirtied = np.zeros(int(w.file.pages[0]), int)
        for e in ((w.extent.state != FREE) & (w.extent.grant_bytes > 0)).nonzero()[0]:
            first = int(w.extent.start[e])
            dirtied[first : first + int(w.extent.pages[e])] += 1
        assert dirtied.max(initial=0) <= 1
    assert all(made.totals(client).app_bytes > 0 for client in range(len(names)))


def test_what_a_lock_covered_is_dropped_with_it(lab: Lab) -> None:
    jobs = [Job(small("s_wr_rn_1m"), client, shared="f") for client in range(2)]
    made = lab.cluster(jobs, BASE)
    for step in range(1, 20):
        made.run_until(0.1 * step)
        w = made.world
        for client in range(2):
            base = int(w.file.state_base[client])
            present = (w.page_state[base : base + int(w.file.pages[client])] == 2).sum()
            assert w.client.cached[client] == present
    assert (made.world.lock.state[[0, 1]] <= LOCK_HELD + 1).all()


def test_shared_files_take_the_largest_size_asked_for_and_one_ost(lab: Lab) -> None:
    jobs = [
        Job(small("s_wr_sq_1m"), 0, osts=(2,), shared="f"),
        Job(small("s_wr_sq_1m", file_bytes=512 * MIB), 1, osts=(3,), shared="f"),
    ]
    made = lab.cluster(jobs, BASE, {"ost_count": "4"})
    assert list(made.world.file.pages) == [131072, 131072]
    assert list(made.world.osc.ost[made.world.file.osc]) == [2, 2]
    assert made.world.file.home[1] == pytest.approx(0)
