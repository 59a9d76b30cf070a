"""The decision core: pure, replayable, each target on its own."""

from __future__ import annotations

from random import Random

import pytest

from penstock.decide.policies import POLICY_NAMES, policy_class
from penstock.decide.policies.fixed import FixedPolicy
from penstock.decide.tuner import Tuner
from penstock.decision import Decision
from penstock.errors import KnobError, UsageError
from penstock.knobs import KnobSpace, Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.window import Void, VoidReason, Window

TARGET = Target("fs-OST0000-osc-1", "fs", "OST0000")


def window_at(t_s: float, setting: Setting, rate: float, target: Target = TARGET) -> Window:
    return Window(target, t_s - 0.5, t_s, setting, {"write.bytes": rate * 0.5, "read.bytes": 0.0})


def drive(tuner: Tuner, steps: int, target: Target = TARGET) -> list[Decision]:
    """Follow a tuner's own decisions on a target that is faster with more requests in flight."""
    setting, decisions = LUSTRE.default, []
    for i in range(steps):
        window = window_at(i * 0.5 + 0.5, setting, 1e6 * setting["flight"], target)
        (decision,) = tuner.step([window], lambda target: LUSTRE, i * 0.5)
        decisions.append(decision)
        setting = LUSTRE.settle(setting, decision.wanted)
    return decisions


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_tuner_same_windows_same_decisions(name: str) -> None:
    make = policy_class(name)
    assert drive(Tuner(make, seed=5), 60) == drive(Tuner(make, seed=5), 60)


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_tuner_decides_only_what_the_space_allows(name: str) -> None:
    for decision in drive(Tuner(policy_class(name), seed=1), 80):
        LUSTRE.check(decision.wanted)
        assert decision.reason
        assert decision.sentence


def test_tuner_gives_every_decision_its_own_id() -> None:
    ids = [decision.id for decision in drive(Tuner(policy_class("random")), 100)]
    assert len(set(ids)) == 100


def test_tuner_keeps_targets_apart() -> None:
    other = Target("fs-OST0001-osc-1", "fs", "OST0001")
    alone = drive(Tuner(policy_class("random"), seed=2), 20)
    shared = Tuner(policy_class("random"), seed=2)
    drive(shared, 7, other)
    assert [d.wanted for d in drive(shared, 20)] == [d.wanted for d in alone]


def test_tuner_learns_nothing_from_a_void_window() -> None:
    tuner = Tuner(policy_class("climb"))
    void = Void(TARGET, 0.0, 0.5, VoidReason.BACKWARDS)
    assert tuner.step([void], lambda target: LUSTRE, 0.5) == ()


def test_tuner_forgets_a_target_that_is_gone() -> None:
    made: list[int] = []

    def factory(space: KnobSpace, rng: Random) -> FixedPolicy:
        made.append(1)
        return FixedPolicy(space, rng)

    tuner = Tuner(factory)
    drive(tuner, 3)
    tuner.forget(TARGET)
    drive(tuner, 3)
    assert len(made) == 2


def test_fixed_policy_moves_once_and_stays() -> None:
    tuner = Tuner(lambda space, rng: FixedPolicy(space, rng, Setting(pages=64, flight=32)))
    decisions = drive(tuner, 5)
    assert [str(change) for change in decisions[0].changes] == ["pages 1024 -> 64", "flight 8 -> 32"]
    assert not any(decision.changes for decision in decisions[1:])


def test_fixed_policy_refuses_a_setting_out_of_bounds() -> None:
    with pytest.raises(KnobError, match="flight=999"):
        FixedPolicy(LUSTRE, Random(0), Setting(flight=999))


def test_policy_misspelt_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match='did you mean "climb"'):
        policy_class("climbb")
