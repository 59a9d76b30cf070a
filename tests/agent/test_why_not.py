"""What keeps the best candidate of a target from being tried is counted by rule, and can be asked for."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.agent.commands import AgentCommands, Commanded
from penstock.agent.containment import contained
from penstock.agent.control import READ_VERBS
from penstock.agent.loop import Loop
from penstock.agent.settings import AgentConfig, ScopeSection
from penstock.agent.startup import Places
from penstock.cli.agent_control import why_not_lines
from penstock.decide.guard import Guard, GuardLimits
from penstock.decide.holding_back import holding_back, rules_of
from penstock.decide.policies.weir import WeirPolicy
from penstock.decision import Decision, HeldBack
from penstock.decision_reasons import Reason
from penstock.errors import MissingError
from penstock.evaluate.simulated_client import INTERVAL_S, Tuning, simulated_client
from penstock.knobs import Setting
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.simulation import Simulation
from penstock.snapshot import Target

HOME = Setting(pages=1024, flight=8)


class TunedClient:
    """A simulated reader that the shipped policy tunes under a guard with these limits."""

    def __init__(self, limits: GuardLimits, **config: Any) -> None:
        self.simulation = Simulation(named_plan(builtin_cluster("c220g5"), "s_rd_rn_1m", 1, 7))
        self.simulation.run_until(2.0)
        self.loop: Loop = simulated_client(self.simulation, Tuning("weir", True), 0)
        self.loop.guard = Guard(limits)
        self.counted: list[str] = []
        self.agent = SimpleNamespace(
            config=AgentConfig(**config),
            places=Places(Path("/"), Path("/")),
            mutex=threading.Lock(),
            paused=set(),
            latest={},
            loop=self.loop,
            targets=lambda: tuple(one.target for one in self.loop.before.targets),  # type: ignore[union-attr]
        )
        self.loop.tick()

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / INTERVAL_S)):
            self.simulation.run_until(self.simulation.now_s + INTERVAL_S)
            steps = self.loop.tick()
            self.agent.latest = {step.window.target: step for step in steps}
            self.counted += rules_of(step.decision for step in steps if step.decision is not None)

    def ask(self, name: str) -> list[dict[str, Any]]:
        answer = AgentCommands(cast(Commanded, self.agent)).handle("why-not", {"target": name})
        assert not isinstance(answer, bytes)
        found: list[dict[str, Any]] = answer["targets"]
        return found


def decision(reason: str, wanted: Setting = HOME, held_back: HeldBack | None = None) -> Decision:
    target = Target("scratch-OST0000", "scratch", "OST0000")
    return Decision("id", 1.0, target, HOME, wanted, reason, "a test", held_back=held_back)


def test_nothing_may_be_lost_so_the_account_holds_the_best_candidate_back() -> None:
    client = TunedClient(GuardLimits(price=0.0))
    client.run(20.0)
    (one,) = client.ask(client.loop.before.targets[0].target.name)  # type: ignore[union-attr]
    assert set(one["held_back"]) == {"guard.loss"}
    # Every window since the original was known, not only those in which candidates were weighed anew.
    assert 20 < one["held_back"]["guard.loss"] < one["windows"]
    assert one["reason"] == Reason.RESTING
    assert "changes have cost what they may" in one["sentences"]["guard.loss"]
    assert one["sentence"] == f"may not try {one['sentences']['guard.loss']}"
    assert one["state"] == "home"
    lines = why_not_lines([one])
    assert lines[0].endswith(", now home")
    assert "guard.loss" in lines[1] and str(one["held_back"]["guard.loss"]) in lines[1]
    # `evaluate` counts the same windows.
    assert client.counted == ["guard.loss"] * one["held_back"]["guard.loss"]


def test_free_target_says_that_nothing_promises_enough() -> None:
    client = TunedClient(GuardLimits())
    client.run(25.0)
    every = client.ask(client.loop.before.targets[0].target.fs)  # type: ignore[union-attr]
    assert len(every) == len(client.agent.targets()) > 1
    one = every[0]
    assert one["held_back"] == {}
    lines = why_not_lines(every)
    assert lines[3:] == [f"{len(every) - 1} more targets: not seen at work"]
    assert lines[1] == "  no rule kept a candidate from being tried"
    assert lines[2].startswith("  now: ") and lines[2].endswith(f"[{one['reason']}]")


def test_target_that_is_not_tuned_says_so() -> None:
    client = TunedClient(GuardLimits(), scope=ScopeSection(deny_fs=("*",)))
    name = client.loop.before.targets[0].target.name  # type: ignore[union-attr]
    (one,) = client.ask(name)
    assert (one["windows"], one["sentence"]) == (0, "out of scope")
    client.agent.config = AgentConfig()
    (one,) = client.ask(name)
    assert (one["reason"], one["held_back"]) == (None, {})
    client.agent.paused.add("*")
    assert client.ask(name)[0]["sentence"] == "paused"
    with pytest.raises(MissingError):
        client.ask("nowhere")


def test_asking_changes_nothing_and_needs_no_rights() -> None:
    assert "why-not" in READ_VERBS


@pytest.mark.parametrize(
    ("made", "rule"),
    [
        (decision(Reason.RESTING), None),
        (decision(Reason.RESTING, held_back=HeldBack("guard.loss", "said")), "guard.loss"),
        # The best was refused and the second best is tried.
        (decision(Reason.PROMISING, HOME.replace(flight=16), HeldBack("guard.reach", "said")), "guard.reach"),
        (decision(Reason.GUARD_DRAIN), "guard.drain"),
        (decision(Reason.SPARSE), "sparse"),
        (decision(Reason.GUARD_SWITCHBACK), None),
    ],
)
def test_rule_behind_a_decision(made: Decision, rule: str | None) -> None:
    found = holding_back(made)
    assert (found.rule if found is not None else None) == rule


def test_contained_policy_gets_its_offers() -> None:
    failures: list[str] = []
    client = TunedClient(GuardLimits())
    tuner = client.loop.tuner
    tuner._make_policy = contained(WeirPolicy, failures.append)
    client.run(5.0)
    assert failures == []
    assert client.agent.latest
