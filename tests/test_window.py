"""Windows: the recipes, and every way in which a pair of snapshots cannot be trusted."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.knobs import Setting
from penstock.ratios import cache_update_bytes, carat_metrics
from penstock.snapshot import NodeSnapshot, Target, TargetSnapshot
from penstock.spaces import LUSTRE
from penstock.units import MIB, PAGE_BYTES
from penstock.window import Void, VoidReason, Window, window, windows

TARGET = Target("fs-OST0000-osc-1", "fs", "OST0000", "fs-1")
OTHER = Target("fs-OST0001-osc-1", "fs", "OST0001", "fs-1")
SETTING = Setting(pages=1024, flight=8, dirty=64)


def snapshot(t_s: float = 0.0, target: Target = TARGET, **counters: float) -> TargetSnapshot:
    named = {name.replace("_", ".", 1): value for name, value in counters.items() if name != "dirty_bytes"}
    gauges = {"dirty.bytes": counters.get("dirty_bytes", 0.0)}
    return TargetSnapshot(target, t_s, SETTING, named, gauges, epoch="a")


BEFORE = snapshot(
    10.0, read_rpcs=5, read_bytes=5 * MIB, read_usec=500, write_rpcs=0, write_bytes=0, write_usec=0
)
AFTER = snapshot(
    12.0,
    read_rpcs=15,
    read_bytes=5 * MIB + 10 * 2 * MIB,
    read_usec=4_000_500,
    write_rpcs=0,
    write_bytes=0,
    write_usec=0,
    dirty_bytes=16 * MIB,
)


def valid(found: Window | Void) -> Window:
    assert isinstance(found, Window), found
    return found


def reason(found: Window | Void) -> str:
    assert isinstance(found, Void), found
    return found.reason


def figures_of(found: Window | Void) -> dict[str, float | None]:
    return carat_metrics(valid(found), LUSTRE)


def test_window_holds_what_counters_rose_by_and_gauges_at_the_end() -> None:
    metrics = valid(window(BEFORE, AFTER)).metrics
    assert metrics["read.rpcs"] == AFTER.counters["read.rpcs"] - BEFORE.counters["read.rpcs"]
    assert metrics["read.usec"] == 4e6
    assert metrics["dirty.bytes"] == AFTER.gauges["dirty.bytes"]
    assert metrics["dirty.grown_bytes"] == AFTER.gauges["dirty.bytes"] - BEFORE.gauges["dirty.bytes"]


def test_window_follows_the_recipes() -> None:
    metrics = figures_of(window(BEFORE, AFTER))
    assert metrics["read.bytes"] == 20 * MIB
    assert metrics["read.page_utilisation"] == pytest.approx(512 / 1024)
    assert metrics["read.channel_utilisation"] == pytest.approx(4.0 / 2.0 / 8)
    assert metrics["read.page_latency_us"] == pytest.approx(4e6 / (20 * MIB / PAGE_BYTES))
    assert metrics["dirty.utilisation"] == pytest.approx(0.25)


def test_window_without_rpcs_has_bytes_but_no_ratios() -> None:
    metrics = figures_of(window(BEFORE, AFTER))
    assert metrics["write.bytes"] == 0
    for name in ("page_utilisation", "channel_utilisation", "page_latency_us"):
        assert metrics[f"write.{name}"] is None


def test_window_counts_a_row_not_printed_yet_as_zero() -> None:
    metrics = figures_of(
        window(snapshot(0.0), snapshot(1.0, write_rpcs=2, write_bytes=8 * MIB, write_usec=100))
    )
    assert metrics["write.bytes"] == 8 * MIB
    assert metrics["write.page_utilisation"] == 1.0
    assert metrics["read.bytes"] == 0


def test_window_does_not_invent_times_where_no_row_tells_them() -> None:
    metrics = figures_of(window(snapshot(0.0), snapshot(1.0, write_rpcs=2, write_bytes=8 * MIB)))
    assert metrics["write.page_utilisation"] == 1.0
    assert metrics["write.channel_utilisation"] is None
    assert metrics["write.page_latency_us"] is None


def test_window_of_empty_requests_has_no_page_latency() -> None:
    metrics = figures_of(window(snapshot(0.0), snapshot(1.0, write_rpcs=2, write_bytes=0, write_usec=50)))
    assert metrics["write.page_utilisation"] == 0.0
    assert metrics["write.page_latency_us"] is None


def test_window_channel_utilisation_is_right_above_31_in_flight() -> None:
    wide = dataclasses.replace(
        snapshot(1.0, write_rpcs=512, write_bytes=MIB, write_usec=200e6), setting=SETTING.replace(flight=256)
    )
    assert figures_of(window(snapshot(0.0), wide))["write.channel_utilisation"] == pytest.approx(200 / 256)


@pytest.mark.parametrize("knob", ["pages", "flight", "dirty"])
def test_window_with_an_unread_knob_lacks_only_what_needs_it(knob: str) -> None:
    setting = Setting({name: value for name, value in SETTING.items() if name != knob})
    metrics = figures_of(window(BEFORE, dataclasses.replace(AFTER, setting=setting)))
    needs = {
        "pages": "read.page_utilisation",
        "flight": "read.channel_utilisation",
        "dirty": "dirty.utilisation",
    }
    for name, metric in needs.items():
        assert (metrics[metric] is None) == (name == knob)
    assert metrics["read.page_latency_us"] is not None


def test_window_with_synchronous_writes_has_no_dirty_utilisation() -> None:
    synchronous = dataclasses.replace(AFTER, setting=SETTING.replace(dirty=0))
    assert figures_of(window(BEFORE, synchronous))["dirty.utilisation"] is None


def test_window_of_garbled_counters_knows_nothing_of_that_direction_only() -> None:
    garbled = dataclasses.replace(
        AFTER, counters={**AFTER.counters, "write.bytes": math.nan, "write.rpcs": math.nan}
    )
    for first, second in ((BEFORE, garbled), (dataclasses.replace(garbled, t_s=9.0), AFTER)):
        metrics = figures_of(window(first, second))
        assert metrics["write.bytes"] is None
        assert metrics["write.page_utilisation"] is None
        assert metrics["read.bytes"] is not None


@pytest.mark.parametrize("t_s", [10.0, 9.0, -1e9, math.nan])
def test_window_is_void_when_the_clock_did_not_advance(t_s: float) -> None:
    assert reason(window(BEFORE, dataclasses.replace(AFTER, t_s=t_s))) is VoidReason.CLOCK


def test_window_is_void_when_the_interval_is_far_too_long() -> None:
    later = dataclasses.replace(AFTER, t_s=4000.0)
    assert reason(window(BEFORE, later, longest_s=10.0)) is VoidReason.TOO_LONG
    assert valid(window(BEFORE, later)).seconds == 3990.0


@pytest.mark.parametrize("name", sorted(AFTER.counters))
def test_window_is_void_when_a_counter_ran_backwards(name: str) -> None:
    high = dataclasses.replace(BEFORE, counters={**BEFORE.counters, name: 1e12})
    assert reason(window(high, AFTER)) is VoidReason.BACKWARDS


@pytest.mark.parametrize("name", sorted(AFTER.counters))
def test_window_is_void_when_a_row_disappeared(name: str) -> None:
    fewer = {key: value for key, value in AFTER.counters.items() if key != name}
    assert reason(window(BEFORE, dataclasses.replace(AFTER, counters=fewer))) is VoidReason.ROW_LOST


def test_window_is_void_across_a_reset_even_when_counters_caught_up() -> None:
    assert reason(window(BEFORE, dataclasses.replace(AFTER, epoch="b"))) is VoidReason.RESTARTED


@pytest.mark.parametrize("state", ["DISCONN", "EVICTED", "CONNECTING", "CLOSED"])
def test_window_is_void_while_the_connection_is_down_at_either_end(state: str) -> None:
    assert reason(window(BEFORE, dataclasses.replace(AFTER, state=state))) is VoidReason.DISCONNECTED
    assert reason(window(dataclasses.replace(BEFORE, state=state), AFTER)) is VoidReason.DISCONNECTED


@pytest.mark.parametrize("states", [("FULL", "IDLE"), ("IDLE", "IDLE"), ("IDLE", "FULL"), ("", "FULL")])
def test_window_survives_an_idle_disconnect(states: tuple[str, str]) -> None:
    before, after = (
        dataclasses.replace(s, state=state) for s, state in zip((BEFORE, AFTER), states, strict=True)
    )
    assert figures_of(window(before, after))["read.bytes"] == 20 * MIB


def test_window_is_void_for_an_inactive_target() -> None:
    assert reason(window(BEFORE, dataclasses.replace(AFTER, active=False))) is VoidReason.INACTIVE


def node(t_s: float, written: float, *targets: TargetSnapshot, since_s: float = 1.0) -> NodeSnapshot:
    return NodeSnapshot(t_s, targets, {"fs-1": {"app.write_bytes": written, "app.since_s": since_s}})


def updates(before: NodeSnapshot, after: NodeSnapshot) -> list[float | None]:
    return [cache_update_bytes(valid(found)) for found in windows(before, after)]


def test_windows_share_the_nodes_writes_by_bytes_sent() -> None:
    before = node(0, 0, snapshot(0, write_bytes=0), snapshot(0, OTHER, write_bytes=0))
    after = node(1, 100 * MIB, snapshot(1, write_bytes=30 * MIB), snapshot(1, OTHER, write_bytes=10 * MIB))
    assert updates(before, after) == [pytest.approx(45 * MIB), pytest.approx(15 * MIB)]


def test_windows_share_opens_closes_and_fsyncs_as_writes() -> None:
    before = node(0, 0, snapshot(0, write_bytes=0), snapshot(0, OTHER, write_bytes=0))
    after = node(1, 0, snapshot(1, write_bytes=30 * MIB), snapshot(1, OTHER, write_bytes=10 * MIB))
    calls = {"app.fsyncs": 8.0, "app.fsync_usec": 4e6, "app.closes": 4.0, "app.opens": 2.0}
    seen = windows(
        dataclasses.replace(before, mounts={"fs-1": {**dict.fromkeys(calls, 0.0), "app.since_s": 1.0}}),
        dataclasses.replace(after, mounts={"fs-1": {**calls, "app.since_s": 1.0}}),
    )
    shares = [{name: valid(found).metrics[name] for name in calls} for found in seen]
    assert shares == [{name: part * value for name, value in calls.items()} for part in (0.75, 0.25)]
    # Recordings of versions that did not read them have none.
    assert "app.fsyncs" not in valid(windows(before, after)[0]).metrics


def test_windows_share_by_dirty_growth_where_nothing_was_sent() -> None:
    before = node(0, 0, snapshot(0), snapshot(0, OTHER))
    after = node(1, 8 * MIB, snapshot(1, dirty_bytes=3 * MIB), snapshot(1, OTHER, dirty_bytes=1 * MIB))
    assert updates(before, after) == [pytest.approx(3 * MIB), pytest.approx(1 * MIB)]


def test_windows_share_equally_where_there_is_no_other_sign() -> None:
    before, after = (
        node(0, 0, snapshot(0), snapshot(0, OTHER)),
        node(1, 8 * MIB, snapshot(1), snapshot(1, OTHER)),
    )
    assert updates(before, after) == [4 * MIB, 4 * MIB]


def test_windows_estimate_no_update_below_zero() -> None:
    before, after = node(0, 0, snapshot(0)), node(1, MIB, snapshot(1, write_bytes=4 * MIB))
    assert updates(before, after) == [0.0]


@pytest.mark.parametrize(
    "after",
    [
        node(1, 5.0, snapshot(1), since_s=2.0),
        node(1, -5.0, snapshot(1)),
        node(1, math.nan, snapshot(1)),
        NodeSnapshot(1, (snapshot(1),)),
        NodeSnapshot(1, (snapshot(1),), {"other": {"app.write_bytes": 1.0}}),
    ],
)
def test_windows_know_no_update_where_the_mounts_counters_do_not_compare(after: NodeSnapshot) -> None:
    assert updates(node(0, 0, snapshot(0)), after) == [None]


def test_windows_keep_two_mounts_of_one_file_system_apart() -> None:
    second = dataclasses.replace(TARGET, name="fs-OST0000-osc-2", mount="fs-2")
    before = NodeSnapshot(
        0,
        (snapshot(0), snapshot(0, second)),
        {"fs-1": {"app.write_bytes": 0}, "fs-2": {"app.write_bytes": 0}},
    )
    after = NodeSnapshot(
        1,
        (snapshot(1), snapshot(1, second)),
        {"fs-1": {"app.write_bytes": 7}, "fs-2": {"app.write_bytes": 9}},
    )
    assert updates(before, after) == [7, 9]


def test_windows_leave_out_targets_that_only_one_snapshot_holds() -> None:
    assert windows(node(0, 0, snapshot(0)), node(1, 0, snapshot(1, OTHER))) == ()


figures = st.floats(0, 1e15) | st.just(math.nan)


@given(
    st.dictionaries(st.sampled_from(sorted(AFTER.counters)), figures),
    st.dictionaries(st.sampled_from(sorted(AFTER.counters)), figures),
    st.floats(-10, 1e6),
)
def test_window_of_anything_is_void_or_holds_finite_figures(
    first: dict[str, float], second: dict[str, float], t_s: float
) -> None:
    found = window(
        dataclasses.replace(BEFORE, counters=first, t_s=0.0),
        dataclasses.replace(AFTER, counters=second, t_s=t_s),
    )
    if isinstance(found, Window):
        assert all(map(math.isfinite, found.metrics.values()))
        known = [value for value in carat_metrics(found, LUSTRE).values() if value is not None]
        assert all(math.isfinite(value) and value >= 0 for value in known)
