"""Protocols: what is counted, and which setting is in force while it is."""

from __future__ import annotations

import pytest

from penstock.knobs import Setting
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.protocol import Cell, Rhythm, random_walk, recorded_rhythm
from penstock.workload import parse_workload

SLOW, FAST = Setting(pages=1, flight=1), Setting(pages=256, flight=8)


def walk(rhythm: Rhythm) -> list[Cell]:
    plan = named_plan(builtin_cluster("c220g5"), "s_rd_sq_1m", seed=1)
    return random_walk(plan, [SLOW, FAST], 4 * rhythm.interval_s, rhythm)


@pytest.mark.parametrize(("name", "longest_s"), [("s_rd_rn_8k", 0.6), ("s_wr_rn_8k", 0.75)])
def test_recorded_rhythm_lets_a_setting_rule_most_of_its_interval(name: str, longest_s: float) -> None:
    rhythm = recorded_rhythm(parse_workload(name))
    assert 0 < rhythm.delay_s < 0.1 * rhythm.interval_s
    assert rhythm.interval_s < rhythm.interval_s + rhythm.pause_s < longest_s


def test_pauses_are_not_counted() -> None:
    slow, fast = walk(Rhythm(0.2, pause_s=0.3))
    assert (slow.seconds, fast.seconds) == pytest.approx((0.8, 0.8))
    assert fast.app_mbps == pytest.approx(walk(Rhythm(0.2))[1].app_mbps, rel=0.1)


def test_a_late_setting_leaves_part_of_its_interval_to_the_one_before() -> None:
    slow, fast = walk(Rhythm(0.2))
    late_slow, late_fast = walk(Rhythm(0.2, delay_s=0.1))
    assert late_slow.app_mbps > 2 * slow.app_mbps
    assert late_fast.app_mbps < fast.app_mbps
