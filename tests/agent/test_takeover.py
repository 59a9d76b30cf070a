"""An administrator sets a knob, gives it back and sets it again: the target's other knobs go on being tuned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.rigs.agents import knobs, set_knob
from tests.rigs.queueing import Hardware, Load, QueueingTarget
from tests.rigs.served import Served, served, wait_for, why_not

from penstock.agent.containment import contained
from penstock.agent.loop import Loop
from penstock.agent.service import Agent
from penstock.agent.settings import AgentConfig, GuardSection, Mode
from penstock.agent.startup import Places
from penstock.decide.guard import Guard
from penstock.decide.policies import POLICY_NAMES, policy_class
from penstock.decide.tuner import Tuner
from penstock.decision import Decision, Receipt
from penstock.knobs import KnobSpace, Setting
from penstock.ports import Ports
from penstock.snapshot import Target
from penstock.testing.predictors import FakePredictor

# Legal values that no policy would choose.
THEIRS = {"pages": (300, 700), "flight": (24, 11), "dirty": (123, 124)}
PHASE = 80
STILL = ("default", "fixed")
SHIPPED = str(AgentConfig.model_fields["policy"].default)
# A guard that lets nearly everything through.
EAGER = GuardSection(
    jitter_s=0,
    dwell_s=0,
    reference_windows=1,
    reference_error=10,
    visit_loss_s=100,
    price=1,
    minute_loss_s=1000,
    trial_s=0,
    changes_per_hour=10**6,
    breaker_s=0.001,
)


class AdministeredTarget(QueueingTarget):
    """A target whose knobs an administrator may take over and give back."""

    def __init__(self, seed: int) -> None:
        super().__init__(Hardware(1.2e9, 6e-5, 0.02), [Load(0.0, 1 << 20, 4e-3)], seed)
        self.theirs: set[str] = set()

    def space(self, target: Target) -> KnobSpace:
        now = self.get(target)
        held = (
            knob.within(now[knob.id], now[knob.id]) if knob.id in self.theirs else knob
            for knob in self.knobs.knobs
        )
        return replace(self.knobs, knobs=tuple(held))

    def set(self, target: Target, wanted: Setting) -> Receipt:
        assert not self.theirs & wanted.keys(), f"an administrator's knob was touched: {wanted}"
        held = self._setting.only(*self.theirs)
        # As the real actuator does, where the kernel moves a knob because of another.
        self._setting = self.knobs.settle(self._setting, wanted).replace(held)
        return Receipt(target, wanted, self._setting)

    def take_over(self, knob_id: str, value: int) -> None:
        self._setting = self._setting.replace({knob_id: value})
        self._original = self._original.replace({knob_id: value})
        self.theirs.add(knob_id)

    def hurry(self, knob_id: str, value: int) -> None:
        """Set a knob once more, unnoticed so far."""
        self._setting = self._setting.replace({knob_id: value})


class LoopRun:
    """One policy under the guard in virtual time; what its decisions said, and what went wrong in it."""

    def __init__(self, policy: str) -> None:
        self.world, self.wrong = AdministeredTarget(seed=3), list[str]()
        make = contained(policy_class(policy), self.wrong.append)
        limits = replace(EAGER.limits(), switchback_first_s=5.0)
        ports = Ports(self.world, self.world, self.world)
        self.loop = Loop(ports, Tuner(make, 1, FakePredictor(1)), 0.5, Guard(limits, 1))
        self.loop.tick()

    def run(self, count: int = PHASE) -> list[Decision]:
        made = []
        for _ in range(count):
            self.world.sleep_until(self.world.now() + 0.5)
            made += [step.decision for step in self.loop.tick() if step.decision is not None]
        return made

    def take_over(self, knob_id: str, value: int) -> None:
        self.world.take_over(knob_id, value)
        self.loop.look_again(self.world.target)


@pytest.mark.parametrize("policy", POLICY_NAMES)
@pytest.mark.parametrize("knob_id", list(THEIRS))
def test_every_policy_goes_on_with_the_other_knobs(policy: str, knob_id: str) -> None:
    here = LoopRun(policy)
    here.run()
    meanwhile: list[Decision] = []
    for value in THEIRS[knob_id]:
        here.take_over(knob_id, value)
        taken = here.run()
        assert here.world.get(here.world.target)[knob_id] == value
        here.world.theirs.clear()
        here.loop.look_again(here.world.target)
        given_back = here.run()
        reasons = {decision.reason for decision in taken + given_back}
        assert not reasons & {"policy-error", "out-of-bounds"}
        for decision in given_back:
            if decision.reason in ("guard.revert", "guard.switchback") and knob_id != "dirty":
                assert decision.wanted[knob_id] == value, "the administrator's value is the original now"
        meanwhile += taken
    assert any(decision.changes for decision in meanwhile) or policy in STILL
    assert here.wrong == []


@pytest.mark.parametrize("policy", POLICY_NAMES)
@pytest.mark.parametrize("windows", [3, 12, 40])
def test_value_that_is_in_force_before_the_journal_knows_it_ends_nothing(policy: str, windows: int) -> None:
    """An administrator sets a knob twice in a row: bounds have the second value, the journal has the first."""
    here = LoopRun(policy)
    here.run(windows)
    here.world.take_over("flight", 77)
    here.world.hurry("flight", 99)
    here.loop.look_again(here.world.target)
    here.run(20)
    assert here.world.get(here.world.target)["flight"] == 99
    assert here.wrong == []


# -- a live agent, with its own journal and actuator over a served client ----------------------------------------


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    # It only reads, because the shipped policy tries next to nothing where somebody writes.
    with served(tmp_path_factory.mktemp("client"), osts=1, spiteful=True) as running:
        yield running


class LiveRun:
    """An agent over a served client, tick by tick."""

    def __init__(self, client: Served, state: Path, policy: str) -> None:
        config = AgentConfig(mode=Mode.TUNE, interval_s=0.1, guard=EAGER, policy=policy)
        self.client = client
        # The shipped policy leaves work with fewer than eight requests in a window alone.
        self.pace_s = 0.1 if policy == SHIPPED else 0.03
        self.agent = Agent(config, Places(client.root, state), policy_class(policy))

    def ticks(self, count: int) -> None:
        for _ in range(count):
            self.agent.clock.sleep_until(self.agent.clock.now() + self.pace_s)
            self.agent.tick()

    def has_changed_something(self) -> bool:
        self.ticks(1)
        return bool(self.agent.touched())


@pytest.mark.live
@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_live_agent_of_every_policy_lets_an_administrator_come_and_go(
    client: Served, tmp_path: Path, policy: str
) -> None:
    before = knobs(client)
    here = LiveRun(client, tmp_path / "state", policy)
    agent = here.agent
    if policy not in STILL:
        wait_for(here.has_changed_something)
    for knob_id, values in THEIRS.items():
        for value in values:
            # A target of which nothing was changed is nobody's to give up.
            ours = bool(agent.touched())
            assert ours or policy in STILL
            set_knob(client, "OST0000", knob_id, value)
            here.ticks(6)
            for target in agent.targets() if ours else ():
                assert knobs(client)[knob_id] == value
                assert knob_id in agent.manual_knobs(target)
                agent.take_back(target.name)
            here.ticks(6)
    assert agent.ledger.policy_errors == 0
    agent.give_back()
    assert not agent.touched()
    left = knobs(client)
    for knob_id, values in THEIRS.items():
        # Storing an RPC knob may have raised the limit of dirty data, for them as well.
        assert left[knob_id] == values[-1] or knob_id == "dirty" or policy in STILL
    for knob_id, value in before.items():
        set_knob(client, "OST0000", knob_id, value)
    agent._lock.release()
