"""Why nothing new is tried on a target: the rules that kept its best candidates back, and the last word about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from penstock.agent.loop import Loop, Step
from penstock.agent.names import resolve
from penstock.agent.settings import AgentConfig
from penstock.agent.standing import is_paused
from penstock.snapshot import Target

NOTHING = (
    "nothing was decided about it in the last interval: it is idle, or what it did could not be compared"
)


class ExplainedAgent(Protocol):
    """What the answer is made from. It may be read beside the control loop."""

    config: AgentConfig
    paused: set[str]
    latest: dict[Target, Step]
    loop: Loop

    def targets(self) -> tuple[Target, ...]:
        """The present targets."""
        ...


def why_not(agent: ExplainedAgent, name: str) -> dict[str, Any]:
    """An entry for the target of this name, or for each one of a file system.

    `held_back` counts the windows of the target's tuning group, or its own, by rule since the agent started; `state`
    is where that is (`penstock.decide.guard.unit_states`).
    """
    present = agent.targets()
    full = resolve(name, present)
    asked = [target for target in present if full in (target.name, target.fs)]
    return {"targets": [_of(agent, target) for target in sorted(asked, key=lambda target: target.name)]}


def _of(agent: ExplainedAgent, target: Target) -> dict[str, Any]:
    guard, step = agent.loop.guard, agent.latest.get(target)
    counted = guard.held_back(target) if guard is not None else None
    decision = step.decision if step is not None else None
    reason, sentence = _not_tuned(agent, target), NOTHING
    if reason:
        sentence = reason
    elif decision is not None:
        reason, sentence = decision.reason, decision.sentence
    found: Mapping[str, Any] = {
        "unit": counted.unit if counted is not None else "",
        "work": counted.work if counted is not None else "",
        "state": str(counted.state) if counted is not None else "",
        "windows": counted.windows if counted is not None else 0,
        "held_back": {rule: one.windows for rule, one in counted.rules.items()}
        if counted is not None
        else {},
        "sentences": {rule: one.sentence for rule, one in counted.rules.items()}
        if counted is not None
        else {},
    }
    return {"target": target.name, **found, "reason": reason or None, "sentence": sentence}


def _not_tuned(agent: ExplainedAgent, target: Target) -> str:
    if not agent.config.scope.covers(target):
        return "out of scope"
    return "paused" if is_paused(target, agent.paused) else ""
