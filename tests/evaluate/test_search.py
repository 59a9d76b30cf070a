"""The best static setting: found by halving, never without the default in the race."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import pytest

from penstock.evaluate.figures import headroom_captured
from penstock.evaluate.lab import Lab
from penstock.evaluate.search import DEFAULT, ROUNDS, choose
from penstock.evaluate.store import Store
from penstock.evaluate.trial import Measured, Trial
from penstock.knobs import Setting
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster


class Hill(Lab):
    """A lab in which throughput falls with the distance from one setting."""

    def __init__(self, top: Setting) -> None:
        super().__init__(Store(None), workers=1)
        self.top = top
        self.asked: list[Trial] = []

    def measure(self, stage: str, trials: Sequence[Trial]) -> list[Measured]:
        self.asked += trials
        return [self._measured(trial.course.setting) for trial in trials]

    def _measured(self, setting: Setting | None) -> Measured:
        assert setting is not None
        far = sum(abs(log2(setting[knob] / self.top[knob])) for knob in self.top)
        return Measured(100.0 - far, 0.0, 0, 0, (), (), (), ())


PLAN = named_plan(builtin_cluster("c220g5"), "s_rd_rn_1m", seed=7)


@pytest.mark.parametrize("top", [Setting(pages=1, flight=256), DEFAULT, Setting(pages=64, flight=1)])
def test_choose_finds_the_top_of_a_hill(top: Setting) -> None:
    lab = Hill(top)
    found = choose(lab, {"one": [PLAN]}, 60.0)["one"]
    assert found.setting == top
    assert len(found.surface) == 99
    assert len(lab.asked) == sum(this.settings for this in ROUNDS)


def test_choose_keeps_the_default_in_every_round_and_leaves_the_measured_seed_alone() -> None:
    lab = Hill(Setting(pages=1, flight=1))
    found = choose(lab, {"one": [PLAN]}, 60.0)["one"]
    assert DEFAULT in found.ranking
    assert PLAN.seed not in {trial.plan.seed for trial in lab.asked}


def test_choose_adds_the_worlds_of_a_group_up() -> None:
    lab = Hill(Setting(pages=16, flight=16))
    assert choose(lab, {"two": [PLAN, PLAN]}, 2.0)["two"].setting == lab.top
    assert max(trial.course.seconds for trial in lab.asked) == 2.0


def test_headroom_counts_only_where_there_is_room() -> None:
    assert headroom_captured([(100.0, 200.0, 150.0), (100.0, 110.0, 50.0)]) == 0.5
    assert headroom_captured([(100.0, 119.0, 100.0)]) is None
