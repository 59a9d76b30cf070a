"""What can be asked of a running agent over its socket."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.actuate.recovery import verify_all
from penstock.agent.control import READ_VERBS
from penstock.agent.exports import node_status
from penstock.agent.log import read_log
from penstock.agent.loop import Step
from penstock.agent.settings import Mode
from penstock.errors import MissingError, UsageError, did_you_mean
from penstock.snapshot import Target
from penstock.window import Void

if TYPE_CHECKING:
    from penstock.agent.service import Agent

# So long after a change, at most, it counts as being on trial.
TRIAL_INTERVALS = 20

Arguments = Mapping[str, Any]
Answer = Mapping[str, Any]


class Commands:
    """The verbs. Those that change anything wait for the tick in progress; those that read do not."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._started_s = time.time()
        self._verbs: dict[str, Callable[[Arguments], Answer]] = {
            "status": self._status,
            "explain": lambda arguments: explain(agent.places.log, str(arguments.get("id", ""))),
            "verify": self._verify,
            "mode": self._mode,
            "pause": lambda arguments: self._pause(arguments, agent.paused.add),
            "resume": self._resume,
            "restore": self._restore,
        }

    def handle(self, verb: str, arguments: Arguments) -> Answer:
        """Answer one request."""
        if verb not in self._verbs:
            raise UsageError(f"unknown request {verb!r}{did_you_mean(verb, self._verbs)}")
        if verb in READ_VERBS:
            return self._verbs[verb](arguments)
        with self._agent.mutex:
            answer = self._verbs[verb](arguments)
        self._agent.event("control", verb=verb, arguments={key: str(v) for key, v in arguments.items()})
        return answer

    def _status(self, arguments: Arguments) -> Answer:
        agent = self._agent
        return {
            "pid": os.getpid(),
            "mode": agent.mode.value,
            "policy": agent.policy_name,
            "interval_s": agent.config.interval_s,
            "rollback": agent.config.rollback.value,
            "uptime_s": time.time() - self._started_s,
            "ticks": agent.ticks,
            "paused": sorted(agent.paused),
            "lost_log_lines": agent.log.lost,
            "problems": agent.voice.standing(),
            "jobs": list(agent.jobs.running),
            "node": dataclasses.asdict(node_status(agent)),
            "targets": [
                {**_row(target, step), **self._standing(target)}
                for target, step in sorted(agent.latest.items(), key=_by_name)
            ],
        }

    def _standing(self, target: Target) -> dict[str, Any]:
        """Where a target stands: what holds it back, and its last change."""
        agent = self._agent
        held = agent.paused & {"*", target.name, target.fs}
        last = agent.ledger.last.get(target.name)
        return {
            "resource": target.resource,
            "paused": bool(held),
            "in_scope": agent.config.scope.covers(target),
            "manual": sorted(agent.manual_knobs(target)),
            "guard": agent.ledger.state(target, time.time(), TRIAL_INTERVALS * agent.config.interval_s),
            "last_change": dataclasses.asdict(last) if last is not None else None,
        }

    def _verify(self, arguments: Arguments) -> Answer:
        """Which knobs do not hold what this agent last set, and the commands that undo everything."""
        found = verify_all(self._agent.places.root, self._agent.places.state_dir)
        return {"findings": [asdict(one) for one in found.differences], "rollback": list(found.rollback)}

    def _mode(self, arguments: Arguments) -> Answer:
        wanted = str(arguments.get("mode", ""))
        if wanted not in list(Mode):
            raise UsageError(f"mode {wanted!r} is not one of {', '.join(Mode)}{did_you_mean(wanted, Mode)}")
        self._agent.set_mode(Mode(wanted))
        return {"mode": wanted}

    def _pause(self, arguments: Arguments, change: Callable[[str], None]) -> Answer:
        change(str(arguments.get("target") or "*"))
        return {"paused": sorted(self._agent.paused)}

    def _resume(self, arguments: Arguments) -> Answer:
        """End a pause; with `take_back`, also manage the named targets' yielded knobs again."""
        if not arguments.get("take_back"):
            return self._pause(arguments, self._agent.paused.discard)
        name = str(arguments.get("target") or "")
        if not name:
            raise UsageError("taking knobs back from their administrator needs a target or a file system")
        taken = self._agent.take_back(name)
        return {**self._pause(arguments, self._agent.paused.discard), "taken_back": taken}

    def _restore(self, arguments: Arguments) -> Answer:
        """Give everything back and stay out of the way until resumed."""
        agent = self._agent
        agent.paused.add("*")
        restored = [agent.restore(target) for target in agent.touched()]
        return {"restored": restored, "paused": sorted(agent.paused)}


def explain(path: Path, decision_id: str) -> dict[str, Any]:
    """One decision from the log, with everything it looked at and what became of it."""
    found: dict[str, Any] | None = None
    effect: dict[str, Any] | None = None
    for event in read_log(path):
        if event.get("event") == "decision" and str(event.get("id", "")).startswith(decision_id or "?"):
            found = event
        elif event.get("event") == "effect" and found is not None and event.get("decision") == found["id"]:
            effect = event
    if found is None:
        raise MissingError(f"no decision {decision_id!r} in {path}")
    return {"decision": found, "effect": effect}


def _by_name(item: tuple[Target, Step]) -> str:
    return item[0].name


def _row(target: Target, step: Step) -> dict[str, Any]:
    window, decision = step.window, step.decision
    if isinstance(window, Void):
        return {"target": target.name, "fs": target.fs, "void": str(window.reason)}
    return {
        "target": target.name,
        "fs": target.fs,
        "setting": dict(window.setting),
        "read_bytes_per_s": window.rate("read.bytes"),
        "write_bytes_per_s": window.rate("write.bytes"),
        "decision": decision.id if decision is not None else None,
        "reason": decision.reason if decision is not None else None,
        "sentence": decision.sentence if decision is not None else None,
    }
