"""The loop: one step per target and interval, no bursts after an overrun."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from random import Random

import pytest
from tests.rigs.queueing import Hardware, Load, QueueingTarget

from penstock.actuate.knob_errors import TargetGoneError
from penstock.agent.loop import Loop, ticks
from penstock.decide.guard import Guard
from penstock.decide.policies import policy_class
from penstock.decide.policies.fixed import FixedPolicy
from penstock.decide.tuner import Tuner
from penstock.knobs import Acts, KnobSpace, Scope, Setting
from penstock.ports import Ports
from penstock.snapshot import NodeSnapshot, Target
from penstock.spaces import LUSTRE
from penstock.window import Void, Window


def world() -> QueueingTarget:
    return QueueingTarget(Hardware(1e9, 1e-4, 0.0), [Load(0.0, 1 << 20, 5e-3)], seed=1)


def test_loop_applies_a_decision_and_sees_it_in_the_next_window() -> None:
    here = world()
    tuner = Tuner(lambda space, rng: FixedPolicy(space, rng, Setting(flight=64)))
    first, second = islice(ticks(Loop(Ports(here, here, here), tuner, 0.5)), 2)
    assert first[0].receipt is not None
    assert first[0].receipt.exact
    assert isinstance(second[0].window, Window)
    assert second[0].window.setting["flight"] == 64
    assert second[0].receipt is None


def test_loop_leaves_the_world_alone_without_changes() -> None:
    here = world()
    for steps in islice(ticks(Loop(Ports(here, here, here), Tuner(policy_class("default")), 0.5)), 5):
        assert steps[0].receipt is None
    assert here.get(here.target) == here.knobs.default


def test_loop_only_advises_what_acts_at_the_next_mount_or_governs_the_node() -> None:
    here = world()
    pages, flight, *others = here.knobs.knobs
    later, wide = replace(pages, acts=Acts.NEXT_MOUNT), replace(flight, scope=Scope.NODE)
    here.knobs = KnobSpace("careful", (later, wide, *others))
    tuner = Tuner(lambda space, rng: FixedPolicy(space, rng, Setting(pages=64, flight=64, dirty=100)))
    for steps in islice(ticks(Loop(Ports(here, here, here), tuner, 0.5)), 2):
        assert steps[0].decision is not None
        assert {"pages", "flight"} <= {change.knob_id for change in steps[0].decision.changes}
    assert here.get(here.target) == LUSTRE.default.replace(dirty=100)


class SlowObserver:
    """Takes three intervals for one look."""

    def __init__(self, inner: QueueingTarget, cost_s: float) -> None:
        self.inner, self.cost_s = inner, cost_s
        self.looks_s: list[float] = []

    def observe(self) -> NodeSnapshot:
        self.looks_s.append(self.inner.now())
        self.inner.sleep_until(self.inner.now() + self.cost_s)
        return self.inner.observe()


def test_loop_that_overruns_skips_instead_of_catching_up() -> None:
    here = world()
    slow = SlowObserver(here, 1.6)
    for _ in islice(ticks(Loop(Ports(here, slow, here), Tuner(policy_class("default")), 0.5)), 4):
        pass
    gaps = [later - earlier for earlier, later in zip(slow.looks_s, slow.looks_s[1:], strict=False)]
    assert min(gaps[1:]) >= 2.0 - 1e-6


class VanishingTarget(QueueingTarget):
    """Is unmounted after what was observed was read, at a moment of the test's choice."""

    gone = False

    def space(self, target: Target) -> KnobSpace:
        if self.gone:
            raise TargetGoneError(f"{target.name} is gone (unmounted)")
        return super().space(target)


@pytest.mark.parametrize("late_s", [0.5, 30.0])
def test_loop_survives_a_target_that_goes_between_two_looks_however_late(late_s: float) -> None:
    here = VanishingTarget(Hardware(1e9, 1e-4, 0.0), [Load(0.0, 1 << 20, 5e-3)], seed=1)
    loop = Loop(Ports(here, here, here), Tuner(policy_class("random")), 0.5, guard=Guard(seed=1))
    for _ in islice(ticks(loop), 3):
        pass
    here.gone = True
    here.sleep_until(here.now() + late_s)
    (step,) = loop.tick()
    assert isinstance(step.window, Void) == (late_s > 1.0)
    loop.look_again(here.target)
    assert loop.tick()[0].decision is None
    here.gone = False
    here.sleep_until(here.now() + 0.5)
    assert loop.tick()[0].decision is not None


class FlickeringTarget(QueueingTarget):
    """Its knobs can be read now and then, as those of a mount whose server dies and comes back."""

    def __init__(self, luck: Random) -> None:
        super().__init__(Hardware(1e9, 1e-4, 0.0), [Load(0.0, 1 << 20, 5e-3)], seed=1)
        self.luck = luck

    def space(self, target: Target) -> KnobSpace:
        if self.luck.random() < 0.4:
            raise OSError(5, "Input/output error")
        return super().space(target)


@pytest.mark.parametrize("policy", ["weir", "climb", "random"])
def test_loop_survives_a_target_whose_knobs_can_be_read_now_and_then(policy: str) -> None:
    here = FlickeringTarget(Random(7))
    loop = Loop(Ports(here, here, here), Tuner(policy_class(policy)), 0.5, guard=Guard(seed=1))
    decided = 0
    for tick in range(200):
        # Every sixth look comes so late that nothing may be concluded from it.
        here.sleep_until(here.now() + (20.0 if tick % 6 == 0 else 0.5))
        loop.look_again(here.target)
        decided += sum(step.decision is not None for step in loop.tick())
    assert 20 < decided < 180
