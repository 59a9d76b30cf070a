"""The calendar: nothing is early, late or lost, however far ahead it was scheduled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.knobs import Setting
from penstock.simulate.assembly import Job
from penstock.simulate.kernel.calendar import DAYS, DAYS_PER_US
from penstock.workload import parse_workload

from .conftest import Lab

RING_S = DAYS / DAYS_PER_US / 1e6


@pytest.mark.parametrize("start_s", [0.0, 0.5, RING_S - 0.01, RING_S, RING_S + 0.01, 3 * RING_S])
def test_job_starts_on_time_wherever_its_day_lies_in_the_ring(lab: Lab, start_s: float) -> None:
    made = lab.cluster([Job(parse_workload("s_rd_rn_1m"), 0, start_s=start_s)])
    made.run_until(start_s)
    assert made.totals().app_bytes == 0
    made.run_until(start_s + 0.2)
    begun = made.totals().app_bytes
    fresh = lab.cluster([Job(parse_workload("s_rd_rn_1m"), 0)])
    fresh.run_until(0.2)
    assert begun == pytest.approx(fresh.totals().app_bytes, rel=0.1)


def test_large_world_is_the_same_with_and_without_foresight(lab: Lab) -> None:
    work = replace(parse_workload("f_wr_rn_1m"), streams=60)
    worlds = [lab.cluster([Job(work, client) for client in range(2)]) for _ in range(2)]
    assert worlds[0].world.sim.foresees[0] == 1
    worlds[1].world.sim.foresees[0] = 0
    for made in worlds:
        made.set_all(Setting(pages=64, flight=8, dirty=32))
        made.run_until(0.5)
    assert worlds[0].totals() == worlds[1].totals()
    assert worlds[0].totals().rpcs > 100
