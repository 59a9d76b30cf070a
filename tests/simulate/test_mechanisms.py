"""The sanity tests of the mechanisms, each named after what follows from one of them (one client only)."""

from __future__ import annotations

import pytest

from penstock.knobs import Setting
from penstock.simulate.kernel.records import PAGE
from penstock.units import GIB, MIB

from .conftest import Lab


def at(pages: int, flight: int, dirty: int = 2000) -> Setting:
    return Setting(pages=pages, flight=flight, dirty=dirty)


def test_sequential_8k_read_is_flat_once_the_window_is_covered_and_falls_at_one_page(lab: Lab) -> None:
    rates = [lab.mbps("s_rd_sq_8k", at(*setting)) for setting in ((64, 16), (256, 8), (256, 32))]
    assert max(rates) / min(rates) < 1.15
    assert lab.mbps("s_rd_sq_8k", at(1, 8)) < 0.6 * min(rates)


def test_sequential_16m_read_suffers_from_small_rpcs(lab: Lab) -> None:
    assert lab.mbps("s_rd_sq_16m", at(1, 8)) < 0.5 * lab.mbps("s_rd_sq_16m", at(1024, 8))


def test_random_8k_read_ignores_all_knobs(lab: Lab) -> None:
    settings = (at(1024, 8), at(4, 1), at(16, 256), at(256, 64, dirty=32))
    rates = [lab.mbps("s_rd_rn_8k", setting) for setting in settings]
    assert max(rates) / min(rates) < 1.05


def test_random_1m_read_prefers_several_rpcs_to_one(lab: Lab) -> None:
    whole = lab.mbps("s_rd_rn_1m", at(256, 8))
    assert lab.mbps("s_rd_rn_1m", at(64, 4)) > 1.1 * whole
    assert lab.mbps("s_rd_rn_1m", at(8, 32)) > 1.5 * whole


def test_sequential_write_runs_at_device_speed_whatever_max_dirty_is(lab: Lab) -> None:
    small, large = (lab.mbps("s_wr_sq_1m", at(256, 8, dirty), seconds=4, warmup_s=8) for dirty in (64, 2000))
    assert small == pytest.approx(large, rel=0.03)


def test_burst_below_max_dirty_runs_at_memory_speed_only_with_warm_grant(lab: Lab) -> None:
    burst = lab.workload("s_wr_sq_1m", active_s=0.4, idle_s=3.0)
    cold = {"grant_initial_bytes": "8388608", "grant_max_bytes": "8388608"}
    warm_mbps = lab.mbps(burst, at(1024, 8), seconds=0.4, warmup_s=0.0)
    cold_mbps = lab.mbps(burst, at(1024, 8), cold, seconds=0.4, warmup_s=0.0)
    assert warm_mbps > 1000
    assert cold_mbps < 0.5 * warm_mbps


def test_random_8k_write_fills_at_most_half_an_rpc_and_large_rpcs_carry_many_fragments(lab: Lab) -> None:
    totals = lab.measure("s_wr_rn_8k", at(1024, 8), seconds=4, warmup_s=4)
    assert totals.rpc_bytes / PAGE / totals.rpcs <= 0.55 * 1024
    small = lab.measure("s_wr_rn_8k", at(4, 8), seconds=2, warmup_s=8)
    assert totals.rpc_bytes / totals.rpcs > 20 * small.rpc_bytes / small.rpcs


def test_random_8k_write_with_little_grant_blocks_near_a_third_of_it(lab: Lab) -> None:
    # max_dirty = 32 asks for 36 MB of pages and 9 taxes; 8 KiB extents take 32 KiB of grant each.
    grant = str(32 * MIB + 8 * MIB)
    made = lab.simulation(
        "s_wr_rn_8k", at(1024, 8, dirty=32), {"grant_initial_bytes": grant, "grant_max_bytes": grant}
    )
    peak = 0
    for step in range(1, 200):
        made.run_until(0.01 * step)
        peak = max(peak, int(made.world.osc.dirty[0]) * PAGE)
    assert 9 * MIB < peak < 13 * MIB


def test_overwriting_in_place_gains_from_less_in_flight_while_the_file_fits(lab: Lab) -> None:
    small_file = lab.workload("s_wr_rn_1m", file_bytes=GIB)
    gentle = lab.mbps(small_file, at(256, 1), seconds=10, warmup_s=5)
    harsh = lab.mbps(small_file, at(256, 256), seconds=10, warmup_s=5)
    assert gentle > 1.15 * harsh


def test_that_advantage_disappears_when_little_may_be_dirty(lab: Lab) -> None:
    small_file = lab.workload("s_wr_rn_1m", file_bytes=GIB)
    gentle = lab.mbps(small_file, at(256, 1, dirty=32), seconds=4, warmup_s=2)
    harsh = lab.mbps(small_file, at(256, 8, dirty=32), seconds=4, warmup_s=2)
    assert gentle < 1.1 * harsh


def test_rpcs_stay_small_when_max_dirty_is_far_below_what_the_slots_hold(lab: Lab) -> None:
    starved = {"grant_initial_bytes": str(MIB), "grant_max_bytes": str(MIB)}
    totals = lab.measure("s_wr_sq_1m", at(1024, 8), starved)
    assert totals.rpc_bytes / PAGE / totals.rpcs < 0.3 * 1024


def test_raising_rpcs_in_flight_raises_max_dirty(lab: Lab) -> None:
    made = lab.simulation("s_wr_sq_1m", at(1024, 8, dirty=32))
    assert made.setting(0)["dirty"] == 32
    made.set(0, Setting(flight=256))
    assert made.setting(0)["dirty"] >= 1024


def test_partial_extents_left_behind_leave_only_with_the_flusher(lab: Lab) -> None:
    brief = lab.workload("s_wr_rn_8k", active_s=0.02, idle_s=1000.0)
    made = lab.simulation(brief, at(1024, 8))
    made.run_until(29.0)
    assert made.totals().rpcs == 0
    assert made.world.osc.dirty.sum() > 0
    made.run_until(37.0)
    assert made.world.osc.dirty.sum() == 0


def test_second_pass_over_a_cached_file_sends_nothing(lab: Lab) -> None:
    cached = lab.workload("s_rd_sq_1m", file_bytes=64 * MIB)
    made = lab.simulation(cached, at(1024, 8))
    made.run_until(2.0)
    before = made.totals()
    made.run_until(3.0)
    after = made.totals() - before
    assert before.rpc_bytes == 64 * MIB
    assert after.rpcs == 0
    assert after.app_bytes > 0


def test_in_flight_histogram_never_passes_31_though_more_fly(lab: Lab) -> None:
    made = lab.simulation("s_rd_sq_1m", at(4, 128))
    made.run_until(1.0)
    histogram = made.world.flight_histogram
    assert histogram.shape[1] == 32
    assert histogram[0, 31] > 0.5 * histogram[0].sum()
    assert made.totals().flight_seconds > 40


def test_slots_hold_one_more_than_max_rpcs_in_flight(lab: Lab) -> None:
    made = lab.simulation("s_rd_sq_1m", at(4, 8))
    made.run_until(1.0)
    assert list(made.world.flight_histogram[0].nonzero()[0])[-1] == 9


def test_write_rpcs_are_built_one_after_the_other(lab: Lab) -> None:
    made = lab.simulation("s_wr_rn_16m", Setting(pages=1024, flight=1))
    made.run_until(8.0)
    assert made.world.osc.dirty[0] > 100 * 1024
    made.set_all(Setting(pages=1024, flight=256))
    made.run_until(8.005)
    after_5_ms = int(made.world.osc.writes[0])
    made.run_until(8.1)
    assert 3 <= after_5_ms <= 30
    assert made.world.osc.writes[0] > 4 * after_5_ms
