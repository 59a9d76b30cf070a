"""Programs that fsync, that close their files, and clients that read what another has dirty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.knobs import Setting
from penstock.simulate.assembly import Job
from penstock.simulate.kernel.states import FREE, NO_FSYNC, WAITS_FOR_COMMIT, WAITS_FOR_FSYNC
from penstock.simulate.probe import Probe
from penstock.simulate.script import Script, ScriptFile, Steps, Task
from penstock.simulate.simulation import Simulation
from penstock.units import MIB
from penstock.workload import Workload, parse_workload

from .conftest import Lab

BASE = Setting(pages=256, flight=8, dirty=512)
# So large that 1 MiB here and there fills no RPC: it stays dirty until somebody wants it sent.
LAZY = BASE.replace(pages=1024)
STEP_S = 0.002


def small(name: str, **changes: float) -> Workload:
    shrunk = replace(parse_workload(name), file_bytes=256 * MIB, cache_bytes=2048 * MIB)
    return replace(shrunk, **changes)  # type: ignore[arg-type]


def steps(made: Simulation, seconds: float) -> Iterator[int]:
    """Let time pass in small steps."""
    count = round(seconds / STEP_S)
    for number in range(count):
        made.run_until(made.now_s + STEP_S)
        yield number


def test_after_fsync_nothing_is_dirty_and_the_program_waited_meanwhile(lab: Lab) -> None:
    made = lab.cluster([Job(small("s_wr_rn_1m"), fsync_bytes=64 * MIB)], BASE)
    written, dirtied, committing = [], False, 0
    w = made.world
    for _ in steps(made, 4.0):
        mode = int(w.stream.mode[0])
        dirtied |= int(w.osc.dirty[0]) > 0
        if mode in (WAITS_FOR_FSYNC, WAITS_FOR_COMMIT):
            written.append(int(w.stream.write_bytes[0]))
        if mode == WAITS_FOR_COMMIT:
            committing += 1
            assert int(w.osc.dirty[0]) == 0
            assert int(w.file.cached_extents[0]) == int(w.file.writing[0]) == int(w.file.awaited[0]) == 0
    assert dirtied
    assert committing > 0
    assert written
    assert all(size % (64 * MIB) == 0 for size in written), "it writes nothing while it waits"
    assert int(w.client.fsyncs[0]) == int(w.stream.write_bytes[0]) // (64 * MIB) - (w.stream.syncing[0] > 0)


def test_fsync_costs_a_rewriter_what_it_gained(lab: Lab) -> None:
    """Pages that change again before they are sent cost nothing, until a program insists that they are sent."""
    rates = []
    for fsync_bytes in (0, 1024 * MIB, 16 * MIB):
        job = Job(small("s_wr_rn_1m"), fsync_bytes=fsync_bytes)
        rates.append(lab.each(lab.cluster([job], BASE), 4.0, 2.0)[0].app_bytes)
    assert rates[0] > 1.2 * rates[1] > 1.2 * rates[2]


def test_fsync_waits_for_a_round_trip_to_both_servers_and_for_the_journal(lab: Lab) -> None:
    waits = []
    for changes in ({}, {"round_trip_us": "20000"}, {"journal_ms": "40"}):
        made = lab.cluster([Job(small("s_wr_sq_1m"), fsync_bytes=8 * MIB)], BASE, changes)
        made.run_until(3.0)
        client = made.world.client
        assert client.fsync_min[0] <= client.fsync_us[0] / client.fsyncs[0] <= client.fsync_max[0]
        waits.append(float(client.fsync_min[0]))
    assert waits[1] > waits[0] + 40_000
    assert waits[2] > waits[0] + 20_000


def test_fsync_does_not_wait_for_what_another_thread_makes_dirty_meanwhile(lab: Lab) -> None:
    """One thread of a client writes without end, another calls fsync on the same file: it returns all the same."""
    endless = Job(small("s_wr_rn_1m"), shared="database")
    careful = Job(small("s_wr_rn_1m", think_s=0.01), shared="database", fsync_bytes=2 * MIB)
    made = lab.cluster([endless, careful], BASE)
    made.run_until(8.0)
    assert int(made.world.client.fsyncs[0]) >= 5
    assert int(made.world.osc.dirty[0]) > 0


def check_marks(made: Simulation) -> int:
    """What files count agrees with what is marked, and grant is conserved; returns how many extents are awaited."""
    w = made.world
    used = w.extent.state != FREE
    marks = np.bincount(w.extent.file[used & (w.extent.awaited == 1)], minlength=len(w.file))
    assert marks.tolist() == w.file.awaited.tolist()
    held = np.bincount(
        w.file.osc[w.extent.file[used]], w.extent.grant_bytes[used].astype(float), minlength=made.oscs
    )
    assert (w.osc.grant_bytes + held).tolist() == w.osc.grant_total_bytes.tolist()
    return int(marks.sum())


SIZES = st.sampled_from([0, 4096, MIB, 3 * MIB + 1, 20 * MIB])
WRITERS = st.sampled_from(["f_wr_rn_1m", "s_wr_rn_8k", "s_wr_sq_1m", "s_wr_sq_16m"])


@example([("f_wr_rn_1m", 0, 3 * MIB + 1, "one")], "f_rd_sq_1m", [(1, 1, 32)], "")
@given(
    writers=st.lists(st.tuples(WRITERS, SIZES, SIZES, st.sampled_from(["", "one"])), min_size=1, max_size=3),
    reader=st.sampled_from(["s_rd_rn_8k", "f_rd_sq_1m", ""]),
    settings_=st.lists(st.sampled_from([(1, 1, 32), (256, 8, 512), (1024, 32, 64)]), min_size=1, max_size=3),
    event=st.sampled_from(["", "evict:client=0:ost=0:at=0.25", "fail:ost=0:at=0.2:for=0.3"]),
)
@settings(max_examples=25, deadline=None)
def test_any_mixture_of_such_programs_goes_on(
    writers: list[tuple[str, int, int, str]], reader: str, settings_: list[tuple[int, int, int]], event: str
) -> None:
    jobs = [
        Job(small(name), client % 2, shared=shared, fsync_bytes=fsync_bytes, close_bytes=close_bytes)
        for client, (name, fsync_bytes, close_bytes, shared) in enumerate(writers)
    ]
    if reader:
        jobs.append(Job(small(reader), 2, reads_of=0))
    made = Lab().cluster(jobs, BASE, {"timeout_s": "0.2"}, [event] if event else [])
    for number in range(60):
        if number % 20 == 0:
            pages, flight, dirty = settings_[number // 20 % len(settings_)]
            made.set_all(Setting(pages=pages, flight=flight, dirty=dirty))
        made.run_until((number + 1) * 0.01)
        check_marks(made)
    before = made.world.stream.write_calls.copy()
    made.run_until(30.0)
    check_marks(made)
    written = made.world.stream.write_calls - before
    assert written[made.world.stream.read_ratio == 0.0].min() > 0
    stream = made.world.stream
    due = (stream.fsync_bytes > 0) & (stream.write_bytes > 2 * stream.fsync_bytes)
    assert all(int(made.world.client.fsyncs[client]) > 0 for client in stream.client[due])


def test_fsync_returns_once_a_failed_server_is_back(lab: Lab) -> None:
    job = Job(small("s_wr_sq_1m"), fsync_bytes=4 * MIB)
    made = lab.cluster([job], BASE, {"timeout_s": "1"}, ["fail:ost=0:at=0.5:for=2"])
    made.run_until(2.4)
    before = int(made.world.client.fsyncs[0])
    made.run_until(12.0)
    assert int(made.world.client.fsyncs[0]) > before > 0
    assert float(made.world.client.fsync_max[0]) > 1e6


def test_close_sends_no_data_and_costs_two_requests(lab: Lab) -> None:
    work = small("s_wr_rn_1m", file_bytes=64 * MIB, active_s=0.01, idle_s=20.0)
    made = lab.cluster([Job(work, close_bytes=4 * MIB)], LAZY)
    made.run_until(3.0)
    w = made.world
    assert int(w.client.closes[0]) == int(w.stream.write_bytes[0]) // (4 * MIB) > 0
    assert int(w.osc.dirty[0]) > 0, "what was dirty stays dirty after the close"
    far = {"round_trip_us": "10000"}
    calls = []
    for close_bytes in (0, MIB):
        busy = lab.cluster([Job(small("s_wr_rn_1m"), close_bytes=close_bytes)], BASE, far)
        busy.run_until(2.0)
        calls.append(int(busy.world.client.write_calls[0]))
    assert calls[1] <= 2.0 / 0.02
    assert calls[0] > calls[1]


def test_close_makes_readahead_begin_anew(lab: Lab) -> None:
    rates = [
        lab.each(lab.cluster([Job(small("s_rd_sq_1m"), close_bytes=size)], BASE), 1.0, 0.0)[0].app_bytes
        for size in (0, 2 * MIB)
    ]
    assert rates[1] < 0.9 * rates[0]


def test_counters_of_a_client_count_its_calls(lab: Lab) -> None:
    jobs = [
        Job(small("s_wr_sq_1m"), 0, stop_s=2.0, fsync_bytes=32 * MIB, close_bytes=64 * MIB),
        Job(small("s_rd_sq_1m"), 1, start_s=1.0),
    ]
    made = lab.cluster(jobs, BASE)
    made.run_until(0.5)
    assert Probe(made, 1).observe().mounts["penstock"]["app.opens"] == 0
    made.run_until(6.0)
    writer, reader = (Probe(made, client).observe().mounts["penstock"] for client in (0, 1))
    assert int(made.world.stream.syncing[0]) == NO_FSYNC
    assert writer["app.fsyncs"] == int(made.world.stream.write_bytes[0]) // (32 * MIB)
    assert writer["app.fsync_usec"] == float(made.world.client.fsync_us[0]) > 0
    assert writer["app.closes"] == int(made.world.stream.write_bytes[0]) // (64 * MIB) + 1
    assert writer["app.opens"] == writer["app.closes"]
    assert (reader["app.opens"], reader["app.closes"], reader["app.fsyncs"]) == (1, 0, 0)


def test_scripts_count_a_striped_files_sync_once(lab: Lab) -> None:
    file = ScriptFile(8 * MIB, (0, 1))
    steps_ = Steps((file,))
    steps_.write(0, 0, MIB, count=8)
    steps_.sync(0)
    steps_.write(0, 0, MIB)
    steps_.sync(0)
    plan = lab.cluster([Job(small("s_rd_sq_1m"))], changes={"ost_count": "2"}).plan
    made = Simulation(
        replace(plan, jobs=(), scripts=(Script("two", (file,), (Task(0, steps_.ops, False),)),))
    )
    made.run_until(5.0)
    client = made.world.client
    assert (int(client.opens[0]), int(client.closes[0]), int(client.fsyncs[0])) == (1, 1, 2)
    assert 0 < client.fsync_min[0] < client.fsync_max[0] == client.fsync_us[0] - client.fsync_min[0]


def test_reader_on_another_client_makes_the_writers_dirty_pages_go(lab: Lab) -> None:
    """What a writer has dirty leaves when somebody reads, who waits for it; its pages are dropped."""
    writer = Job(small("s_wr_rn_1m", active_s=0.05, idle_s=60.0), 0)
    reader = Job(small("s_rd_rn_1m"), 1, start_s=2.0, stop_s=2.05, reads_of=0)
    made = lab.cluster([writer, reader], LAZY)
    w = made.world
    made.run_until(1.99)
    dirty = int(w.osc.dirty[0])
    cached = int(w.client.cached[0])
    assert dirty > 5_000
    drain_s = dirty * 4096 / 520e6
    made.run_until(2.0 + drain_s / 2)
    assert int(w.client.read_calls[1]) == 0, "the reader waits while the writer's pages leave"
    made.run_until(8.0)
    assert int(w.osc.dirty[0]) == 0
    assert int(w.client.cached[0]) < cached
    assert int(w.client.read_calls[1]) >= 1


def test_writer_is_slower_for_a_reader_elsewhere_and_more_so_the_more_is_dirty(lab: Lab) -> None:
    calls = []
    for dirty in (32, 500):
        writer = Job(small("s_wr_sq_1m"), 0)
        visitor = Job(small("s_rd_rn_1m", think_s=0.2), 1, reads_of=0)
        made = lab.cluster([writer, visitor], BASE.replace(dirty=dirty))
        made.run_until(8.0)
        calls.append(int(made.world.client.read_calls[1]))
    assert calls[0] > 1.5 * calls[1]


def test_reader_has_the_files_of_the_other_job(lab: Lab) -> None:
    writer = Job(small("f_wr_sq_1m"), 0, osts=(1, 0))
    reader = Job(replace(small("s_rd_sq_1m"), streams=7, file_bytes=MIB), 1, reads_of=1)
    made = lab.cluster([reader, writer], BASE, {"ost_count": "2"})
    w = made.world
    homes = w.file.home[w.stream.file].tolist()
    assert homes[:5] == homes[7:]
    assert homes[5:7] == homes[:2]
    assert w.osc.ost[w.file.osc[w.stream.file]].tolist() == [1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1]
    assert set(w.file.pages.tolist()) == {256 * 256}
    assert set(w.file.shared.tolist()) == {1}
