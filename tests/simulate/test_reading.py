"""Readahead: windows follow the pattern of calls and their limits, and rates are those of a real client."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.errors import UsageError
from penstock.knobs import Setting
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.metadata.virtual_time import Timeline
from penstock.simulate.reading.access_pattern import AccessKind, AccessPattern
from penstock.simulate.reading.ahead_budget import AheadBudget
from penstock.simulate.reading.ahead_window import AheadLimits, AheadWindow
from penstock.simulate.reading.read_path import BLOCK_BYTES, Link
from penstock.simulate.reading.reading_client import ReadingClient
from penstock.simulate.reading.reading_probe import ReadingProbe
from penstock.simulate.reading.reading_workloads import NAMES, parse_reading
from penstock.testing.actuators import Rig, check_actuator
from penstock.testing.observers import check_observer

TWIN = builtin_cluster("emulated-10ms")
# In blocks of 64 KiB: RPCs of 4 MiB, 30 MiB a file, files of up to 2 MiB whole, refilled in batches of 16 MiB.
LIMITS = AheadLimits(rpc=64, file=480, whole=32, async_from=480, refill=256)
LARGE = 1 << 14


def client(name: str, **limits: int) -> ReadingClient:
    usual = {"ahead_total": 122, "ahead_file": 30, "ahead_whole": 30, "ahead_async": 30}
    return ReadingClient(TWIN, parse_reading(name), setting=Setting({**usual, **limits}))


def mb_per_s(name: str, **limits: int) -> float:
    """As a recorded cell: the first seven seconds."""
    one = client(name, **limits)
    one.engine.run_until(7.0)
    return one.reads.bytes / 7e6


# MB/s of a real 2.15.8 client over 10 ms and 400 Mbit/s, its threshold for asynchronous readahead at 30 MB.
@pytest.mark.parametrize(
    ("name", "total", "file", "recorded"),
    [
        ("ra_seq_64k_1", 0, 0, 2.3),
        ("ra_seq_1m_1", 122, 1, 19.0),
        ("ra_seq_1m_1", 122, 4, 31.9),
        ("ra_seq_1m_1", 16, 16, 39.1),
        ("ra_seq_1m_1", 122, 30, 38.3),
        ("ra_seq_1m_1", 122, 61, 46.9),
        ("ra_seq_64k_1", 488, 244, 47.3),
        ("ra_seq_1m_4", 122, 30, 47.0),
        ("ra_rand_1m_4", 122, 122, 40.4),
    ],
)
def test_rates_are_near_those_of_recorded_cells(name: str, total: int, file: int, recorded: float) -> None:
    found = mb_per_s(name, ahead_total=total, ahead_file=file, ahead_whole=min(file, 30))
    assert found == pytest.approx(recorded, rel=0.15)


def test_window_grows_by_one_rpc_a_call_up_to_its_limit() -> None:
    window, sizes = AheadWindow(LARGE), []
    for call in range(10):
        window.note(call * 16, 16, LIMITS)
        sizes.append(window.size)
    assert sizes == [64, 128, 192, 256, 320, 384, 448, 480, 480, 480]


def test_window_ends_at_multiples_of_an_rpc() -> None:
    window = AheadWindow(LARGE)
    for call in range(9):
        window.note(call * 16, 16, LIMITS)
    wanted = window.wanted(LIMITS, LARGE)
    assert wanted[0] == window.next
    assert wanted[-1] + 1 == (8 * 16 + 480) // 64 * 64
    assert window.wanted(LIMITS, 5) == wanted[:5]


def test_window_asks_for_large_batches_only() -> None:
    window = AheadWindow(LARGE)
    for call in range(9):
        window.note(call * 16, 16, LIMITS)
    window.next = 8 * 16 + 480 - 255
    assert not window.has_room(LIMITS)
    window.next -= 1
    assert window.has_room(LIMITS)


@pytest.mark.parametrize(
    ("file", "async_from", "itself"), [(480, 480, False), (512, 480, True), (480, 0, False)]
)
def test_window_is_refilled_by_another_thread_once_it_is_large_enough(
    file: int, async_from: int, itself: bool
) -> None:
    """A window of 30 MiB holds seven RPCs of 4 MiB: less than a threshold of 30."""
    limits, window = replace(LIMITS, file=file, async_from=async_from), AheadWindow(LARGE)
    for call in range(20):
        window.note(call * 16, 16, limits)
    assert window.refills_itself(limits) is itself


def test_small_file_is_read_whole_at_its_second_call() -> None:
    window = AheadWindow(32)
    window.note(0, 1, LIMITS)
    window.note(1, 1, replace(LIMITS, rpc=4))
    assert window.wanted(LIMITS, 100)[-1] == 31
    larger = AheadWindow(33)
    larger.note(0, 1, replace(LIMITS, rpc=4))
    larger.note(1, 1, replace(LIMITS, rpc=4))
    assert larger.size == 8


def test_random_and_backward_calls_close_the_window() -> None:
    for first in (4096, 0):
        window = AheadWindow(LARGE)
        for call in range(4):
            window.note(1024 + call * 16 if call else 0, 16, LIMITS)
        window.note(first, 16, LIMITS)
        assert window.size == 0
        assert window.wanted(LIMITS, 100) == []


def test_stride_is_noticed_and_only_its_pieces_are_asked_for() -> None:
    pattern = AccessPattern()
    kinds = [pattern.note(at * 64, 16) for at in range(6)]
    assert kinds[0] is AccessKind.SEQUENTIAL
    assert kinds[-1] is AccessKind.STRIDE
    window = AheadWindow(LARGE)
    for at in range(10):
        window.note(at * 64, 16, LIMITS)
    wanted = window.wanted(LIMITS, 48)
    assert wanted == [*range(640, 656), *range(704, 720), *range(768, 784)]


def test_budget_grants_what_is_left_unless_it_is_too_little() -> None:
    budget = AheadBudget(100)
    assert [budget.take(60), budget.take(60), budget.take(60)] == [60, 40, 0]
    budget.give(20)
    assert budget.take(100) == 20
    budget.give(10)
    assert budget.take(100) == 0
    assert (budget.used, budget.refused) == (90, 4)


def test_total_limit_holds_for_all_files_together() -> None:
    one, most = client("ra_seq_1m_4", ahead_total=16, ahead_file=16, ahead_whole=2), 0
    for step in range(1, 70):
        one.engine.run_until(step * 0.1)
        most = max(most, one.budget.used)
    assert 0 < most <= 16 * 16
    assert one.budget.refused > 0


def test_small_messages_wait_behind_bulk_data_as_far_as_that_is_ahead() -> None:
    for ahead, expected in ((0.0, 1.0), (BLOCK_BYTES * 4.0, 0.25), (BLOCK_BYTES * 100.0, 1.0)):
        engine, seen = Timeline(), list[float]()
        link = Link(engine, BLOCK_BYTES * 16.0, 0.0, ahead)
        link.send(16, lambda: None)
        link.send_small(lambda engine=engine, seen=seen: seen.append(engine.now_s))  # type: ignore[misc]
        engine.run_until(2.0)
        assert seen == [pytest.approx(expected)]


def test_what_is_read_ahead_of_a_file_that_is_left_comes_in_vain() -> None:
    wire = {}
    for limit in (4, 30, 122):
        one = client("ra_heads_1m_1", ahead_file=limit)
        one.engine.run_until(30.0)
        wire[limit] = one.carried_bytes / one.reads.bytes
    assert wire[4] == pytest.approx(1.0, abs=0.1)
    assert wire[30] > 2.0
    assert wire[4] < wire[30] <= wire[122]


def test_new_limits_act_at_once() -> None:
    one = client("ra_seq_1m_1")
    one.engine.run_until(20.0)
    before = one.reads.bytes
    one.set(one.setting.replace(ahead_file=122))
    one.engine.run_until(40.0)
    assert one.reads.bytes - before > 1.1 * before


def test_same_seed_gives_the_same_counters() -> None:
    def counters(seed: int) -> list[dict[str, float]]:
        probe = ReadingProbe(ReadingClient(TWIN, parse_reading("ra_rand_1m_4"), seed))
        probe.sleep_until(5.0)
        return [dict(one.counters) for one in probe.observe().targets]

    assert counters(1) == counters(1)
    assert counters(1) != counters(2)


def test_probe_obeys_the_suites() -> None:
    for place in (0, 1):

        def make(place: int = place) -> Rig:
            probe = ReadingProbe(client("ra_seq_1m_1"), with_data_path=True)
            return Rig(probe, probe.targets[place])

        check_actuator(make)
    probe = ReadingProbe(client("ra_seq_1m_1"), with_data_path=True)
    check_observer(lambda: probe, lambda: probe.sleep_until(probe.now() + 0.5))


@pytest.mark.parametrize("name", NAMES)
def test_every_workload_reads(name: str) -> None:
    assert mb_per_s(name) > 5.0


@pytest.mark.parametrize("name", ["ra_seq_1m_0", "ra_seq_3m_1", "ra_copy_1m_1", "ra_"])
def test_unknown_workloads_that_read_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="workloads that read look like"):
        parse_reading(name)
