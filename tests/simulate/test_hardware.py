"""The surface moves where the hardware changes, and only there."""

from __future__ import annotations

import pytest

from penstock.knobs import Setting

from .conftest import Lab

HALF_SSD = {"read_us_per_page": "16", "write_us_per_page": "29"}
DOUBLE_RTT = {"round_trip_us": "140"}
HALF_NIC = {"client_mb_per_s": "600", "server_mb_per_s": "600"}
BIG, SMALL = Setting(pages=256, flight=16), Setting(pages=1, flight=1)


def ratio(lab: Lab, workload: str, setting: Setting, changes: dict[str, str]) -> float:
    warmup_s = 8.0 if "_wr_" in workload else 1.0
    plain = lab.mbps(workload, setting, seconds=2.0, warmup_s=warmup_s)
    return lab.mbps(workload, setting, changes, seconds=2.0, warmup_s=warmup_s) / plain


def test_halving_the_ssd_halves_what_the_device_bounds(lab: Lab) -> None:
    assert ratio(lab, "s_wr_sq_1m", BIG, HALF_SSD) == pytest.approx(0.5, abs=0.04)
    assert ratio(lab, "s_rd_sq_1m", BIG, HALF_SSD) == pytest.approx(0.5, abs=0.06)
    assert ratio(lab, "s_rd_rn_8k", BIG, HALF_SSD) > 0.85


def test_doubling_the_round_trip_hurts_what_latency_bounds(lab: Lab) -> None:
    assert ratio(lab, "s_rd_sq_1m", SMALL, DOUBLE_RTT) < 0.9
    assert 0.8 < ratio(lab, "s_rd_rn_8k", BIG, DOUBLE_RTT) < 0.97
    assert ratio(lab, "s_wr_sq_1m", BIG, DOUBLE_RTT) > 0.98
    assert ratio(lab, "s_rd_sq_1m", BIG, DOUBLE_RTT) > 0.98


def test_halving_the_nic_hurts_large_store_and_forward_reads(lab: Lab) -> None:
    assert ratio(lab, "s_rd_rn_1m", BIG, HALF_NIC) < 0.92
    assert ratio(lab, "s_rd_rn_8k", BIG, HALF_NIC) > 0.97
    assert ratio(lab, "s_wr_sq_1m", BIG, HALF_NIC) > 0.97


def test_a_narrow_pipe_becomes_the_limit(lab: Lab) -> None:
    narrow = {"client_mb_per_s": "100"}
    assert lab.mbps("s_rd_sq_1m", BIG, narrow) == pytest.approx(100, rel=0.05)
    assert lab.mbps("s_wr_sq_1m", BIG, narrow, seconds=4.0, warmup_s=20.0) == pytest.approx(100, rel=0.08)


def test_without_the_extent_tax_one_page_extents_hold_as_much_as_grant_allows(lab: Lab) -> None:
    settings = Setting(pages=1, flight=8)
    taxed, free = (
        lab.simulation("s_wr_sq_1m", settings, changes) for changes in ({}, {"extent_tax_kib": "0"})
    )
    for made in (taxed, free):
        made.run_until(6.0)
    # A page costs 28 KiB of grant with the tax and 4 KiB without.
    assert free.world.osc.dirty[0] == pytest.approx(7 * int(taxed.world.osc.dirty[0]), rel=0.01)


def test_memory_for_writes_hides_gaps_but_stores_no_faster(lab: Lab) -> None:
    bare, taking_turns = {"write_buffer_mib": "0"}, Setting(pages=64, flight=16, dirty=64)
    assert ratio(lab, "s_wr_sq_1m", BIG, bare) == pytest.approx(1.0, abs=0.02)
    with_memory, without = (
        lab.mbps("s_wr_rn_8k", taking_turns, changes, seconds=2.0, warmup_s=2.0) for changes in ({}, bare)
    )
    assert with_memory > 1.2 * without
