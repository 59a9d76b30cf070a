"""A quarter of an hour of virtual time with random faults: no knob out of bounds, no leak, no oscillation, and the
same decisions again when the windows are replayed.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from random import Random

import pytest
from tests.rigs.queueing import Hardware, Load, QueueingTarget

from penstock.agent.deciding import IntervalInput, decide
from penstock.agent.loop import Loop, Step, ticks
from penstock.agent.settings import AgentConfig
from penstock.decide.guard import Guard, GuardLimits, NodeView
from penstock.decide.policies import policy_class
from penstock.decide.tuner import Tuner
from penstock.decision import Decision, Receipt
from penstock.knobs import KnobSpace, Setting
from penstock.ports import Ports
from penstock.snapshot import NodeSnapshot, Target
from penstock.testing.predictors import FakePredictor

INTERVAL_S = 0.5
TICKS = 1800
SHIPPED = str(AgentConfig.model_fields["policy"].default)
POLICIES = ("climb", "random", pytest.param(SHIPPED, marks=pytest.mark.slow))


class FaultyWorld:
    """A queueing target whose counters reset, whose connection drops and whose knobs refuse, at random."""

    def __init__(self, seed: int) -> None:
        loads = [
            Load(300.0 * i, 2 ** (16 + 2 * i), latency_s) for i, latency_s in enumerate((6e-3, 1e-3, 3e-3))
        ]
        self.inner = QueueingTarget(Hardware(1.2e9, 6e-5, 0.05), loads, seed)
        self.rng = Random(seed)
        self.epoch = 0
        self.in_force: list[Setting] = []

    def observe(self) -> NodeSnapshot:
        snapshot = self.inner.observe()
        chance = self.rng.random()
        if chance < 0.01:
            self.epoch += 1
        seen = replace(snapshot.targets[0], epoch=self.epoch)
        if 0.01 <= chance < 0.015:
            seen = replace(seen, counters=dict.fromkeys(seen.counters, 0.0))
        if 0.015 <= chance < 0.02:
            seen = replace(seen, state="DISCONN")
        if 0.02 <= chance < 0.025:
            return replace(snapshot, targets=())
        return replace(snapshot, targets=(seen,))

    def space(self, target: Target) -> KnobSpace:
        return self.inner.space(target)

    def get(self, target: Target) -> Setting:
        return self.inner.get(target)

    def original(self, target: Target) -> Setting:
        return self.inner.original(target)

    def set(self, target: Target, wanted: Setting) -> Receipt:
        if self.rng.random() < 0.05:
            return Receipt(target, wanted, self.inner.get(target), "refused: ERANGE")
        receipt = self.inner.set(target, wanted)
        self.in_force.append(receipt.actual)
        return receipt

    def restore(self, target: Target) -> Receipt:
        return self.inner.restore(target)


def soak(policy: str, seed: int) -> tuple[FaultyWorld, list[tuple[Step, ...]]]:
    world = FaultyWorld(seed)
    loop = Loop(
        Ports(world.inner, world, world),
        Tuner(policy_class(policy), seed, FakePredictor(seed)),
        INTERVAL_S,
        Guard(GuardLimits(), seed),
    )
    return world, list(islice(ticks(loop), TICKS))


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["climb", SHIPPED])
def test_soak_does_not_leak(policy: str) -> None:
    world = FaultyWorld(3)
    guard, tuner = Guard(GuardLimits(), 3), Tuner(policy_class(policy), 3, FakePredictor(3))
    running = ticks(Loop(Ports(world.inner, world, world), tuner, INTERVAL_S, guard))
    tracemalloc.start()
    for _ in islice(running, 300):
        pass
    world.in_force.clear()
    early, _ = tracemalloc.get_traced_memory()
    for _ in islice(running, 300):
        pass
    world.in_force.clear()
    late, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert late - early < 40_000


def replay(history: Sequence[tuple[Step, ...]], policy: str, seed: int) -> list[Decision]:
    """Feed the recorded windows to a fresh tuner and guard, with nothing else at hand."""
    tuner = Tuner(policy_class(policy), seed, FakePredictor(seed))
    guard = Guard(GuardLimits(), seed)
    space = FaultyWorld(seed).inner.knobs
    made: list[Decision] = []
    for steps in history:
        seen = [step.window for step in steps]
        if seen:
            interval = IntervalInput(seen[0].t1_s, seen)
            made += decide(tuner, guard, interval, lambda _: space, lambda *_: NodeView()).decisions
    return made


@pytest.mark.parametrize("policy", POLICIES)
def test_soak_keeps_bounds_does_not_oscillate_and_replays_bit_identically(policy: str) -> None:
    world, history = soak(policy, seed=7)
    for setting in world.in_force:
        world.inner.knobs.check(setting)
    decisions = [step.decision for steps in history for step in steps if step.decision is not None]
    made = [decision for decision in decisions if decision.changes]
    reverts = [decision for decision in made if decision.reason == "guard.revert"]
    # A quarter of an hour is within the hour that the budget counts; going back is always allowed.
    assert 0 < len(made) - len(reverts) <= GuardLimits().changes_per_hour
    assert len(reverts) <= len(made) / 2
    assert replay(history, policy, seed=7) == decisions
    assert len(decisions) > 1000
