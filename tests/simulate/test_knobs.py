"""Knobs of the simulated client: bounds, coupling and refusals as a kernel has them."""

from __future__ import annotations

import errno

import pytest

from penstock.knobs import Setting
from penstock.simulate.probe import Probe
from penstock.simulate.simulation import KnobRefusedError

from .conftest import Lab


@pytest.mark.parametrize(
    "wanted",
    [Setting(pages=0), Setting(pages=2048), Setting(flight=0), Setting(flight=257), Setting(dirty=2048)],
)
def test_values_out_of_range_are_refused_with_erange_and_change_nothing(lab: Lab, wanted: Setting) -> None:
    made = lab.simulation("s_wr_sq_1m")
    before = made.setting(0)
    with pytest.raises(KnobRefusedError) as refusal:
        made.set(0, wanted)
    assert refusal.value.errno == errno.ERANGE
    assert made.setting(0) == before


def test_least_rpc_size_depends_on_the_version(lab: Lab) -> None:
    assert lab.simulation("s_wr_sq_1m").set(0, Setting(pages=1))["pages"] == 1
    newer = lab.simulation("s_wr_sq_1m", changes={"version": "2.17"})
    with pytest.raises(KnobRefusedError):
        newer.set(0, Setting(pages=15))
    assert newer.set(0, Setting(pages=16))["pages"] == 16


def test_small_memory_bounds_max_dirty(lab: Lab) -> None:
    made = lab.simulation("s_wr_sq_1m", changes={"ram_gb": "4"})
    assert made.setting(0)["dirty"] == 512
    assert made.set(0, Setting(dirty=1024))["dirty"] == 1024
    with pytest.raises(KnobRefusedError):
        made.set(0, Setting(dirty=1025))
    assert made.set(0, Setting(flight=16))["dirty"] == 512


def test_range_lock_exists_in_2_15_only(lab: Lab) -> None:
    # Without the memory that a device keeps for writes nothing hides the gaps between RPCs that take turns.
    scattered, setting, bare = "s_wr_rn_8k", Setting(pages=64, flight=16, dirty=64), {"write_buffer_mib": "0"}
    locked = lab.mbps(scattered, setting, {"version": "2.15", **bare}, seconds=2, warmup_s=2)
    free = lab.mbps(scattered, setting, {"version": "2.16", **bare}, seconds=2, warmup_s=2)
    assert free > 1.5 * locked


def test_max_dirty_of_zero_writes_synchronously(lab: Lab) -> None:
    made = lab.simulation("s_wr_sq_1m", Setting(pages=256, flight=8))
    made.set(0, Setting(dirty=0))
    made.run_until(1.0)
    assert made.totals().app_bytes > 0
    assert made.world.osc.dirty[0] <= 256


def test_probe_shows_what_a_client_shows(lab: Lab) -> None:
    probe = Probe(lab.simulation("s_wr_sq_1m"))
    probe.sleep_until(1.0)
    seen = probe.observe()
    assert seen.t_s == 1.0
    assert len(seen.targets) == 8
    busy = seen.targets[0]
    assert busy.setting == Setting(pages=1024, flight=8, dirty=2000)
    assert busy.counters["write.bytes"] == 4096 * 1024 * busy.counters["write.rpcs"] > 0
    assert busy.gauges["dirty.bytes"] > 0
    assert seen.mounts["penstock"]["app.write_bytes"] >= busy.counters["write.bytes"]


def test_probe_sets_refuses_and_restores(lab: Lab) -> None:
    probe = Probe(lab.simulation("s_wr_sq_1m"))
    target = probe.observe().targets[3].target
    assert probe.set(target, Setting(pages=64, flight=32)).exact
    refused = probe.set(target, Setting(flight=300))
    assert refused.error is not None
    assert refused.actual["flight"] == 32
    assert probe.restore(target).actual == Setting(pages=1024, flight=8, dirty=2000)
