"""The golden traces of policies: every decision of short runs, and what these runs brought.

`penstock.evaluate.policy_traces` has the worlds and makes marks of what was measured in them.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

from penstock.agent.loop import Loop, Step
from penstock.decide.policies import POLICY_NAMES
from penstock.decision import Decision
from penstock.evaluate.drivers import Course
from penstock.evaluate.policy_traces import TraceWorld, figures, mark_of, worlds_of
from penstock.evaluate.trial import Measured, perform

SHOWN = 8
FILE = Path(__file__).with_name("decisions.json")
CASES = [(policy, world) for policy in (*POLICY_NAMES, "bayes", "oracle") for world in worlds_of(policy)]


def name_of(policy: str, world: TraceWorld) -> str:
    return f"{policy} {world.name}"


def known() -> dict[str, dict[str, Any]]:
    return dict(json.loads(FILE.read_text("utf-8"))) if FILE.exists() else {}


def known_marks() -> dict[str, str]:
    """The mark of every policy by the traces in the file."""
    traces: dict[str, dict[str, str]] = {}
    for name, trace in known().items():
        policy, _, world = name.partition(" ")
        traces.setdefault(policy, {})[world] = trace["figures"]
    return {policy: mark_of(each) for policy, each in traces.items()}


def run(policy: str, world: TraceWorld) -> dict[str, Any]:
    """A trace: how many decisions, a digest of all with their reasons, one of what was measured, and the first moves
    in words, to see what changed.
    """
    made: list[Decision] = []
    tick = Loop.tick

    def watched(loop: Loop) -> tuple[Step, ...]:
        steps = tuple(tick(loop))
        made.extend(step.decision for step in steps if step.decision is not None)
        return steps

    with patch.object(Loop, "tick", watched):
        measured = perform(world.trial(Course(0.0, 0.0, policy=policy)))
    lines = [_line(decision) for decision in made]
    moves = [_line(each) for each in made if each.changes] or _path(measured)
    return {
        "decisions": len(lines),
        "sha256": hashlib.sha256("\n".join(lines).encode()).hexdigest()[:24],
        "figures": figures(measured),
        "moves": len(moves),
        "first": moves[:SHOWN],
    }


def _line(decision: Decision) -> str:
    return f"{decision.t_s:.3f} {decision.target.resource} {decision.reason}: {decision.wanted}"


def _path(measured: Measured) -> list[str]:
    """The moves of what is no loop, such as an oracle: where the first client's targets were after the beginning."""
    return [f"{step.t_s:.3f} OST{step.ost:04x}: {step.setting}" for step in measured.path if step.t_s > 0]
