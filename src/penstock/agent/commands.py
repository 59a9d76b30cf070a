"""The commands that a running agent accepts over its socket."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Protocol

from penstock.actuate.recovery import verify_all
from penstock.agent.control import READ_VERBS, SHARE, encoded
from penstock.agent.filesystems import ANSWER_SEARCH_S
from penstock.agent.log_search import explain
from penstock.agent.loop import Loop, Step
from penstock.agent.names import resolve
from penstock.agent.settings import AgentConfig, Mode
from penstock.agent.startup import Places
from penstock.agent.why_not import why_not
from penstock.errors import UsageError, did_you_mean
from penstock.events import ControlEvent, LogEvent, TrialEvent, dump
from penstock.serve.rendered import Rendered
from penstock.serve.status import AgentStatus, document
from penstock.snapshot import Target
from penstock.threads import CoreShare

Arguments = Mapping[str, Any]
Answer = Mapping[str, Any] | bytes

A_TRIAL = "a trial is gain, low, high and pairs, all of them finite numbers"


class Commanded(Protocol):
    """The part of the agent that the commands need."""

    config: AgentConfig
    places: Places
    paused: set[str]
    mutex: threading.Lock
    latest: dict[Target, Step]
    loop: Loop

    def status(self) -> AgentStatus: ...

    def targets(self) -> tuple[Target, ...]:
        """The present targets."""
        ...

    def touched(self) -> list[Target]:
        """The targets that have a setting of ours."""
        ...

    def manual_knobs(self, target: Target) -> frozenset[str]:
        """The knobs of a target that belong to its administrator."""
        ...

    def set_mode(self, wanted: Mode) -> None: ...

    def restore(self, target: Target) -> dict[str, Any]:
        """Restore one target's original values."""
        ...

    def take_back(self, name: str) -> list[dict[str, Any]]:
        """Manage knobs again that were given up to an administrator."""
        ...

    def forget_trial(self) -> TrialEvent | None:
        """Drop the result of the last switchback trial."""
        ...

    def note_trial(self, trial: TrialEvent) -> None:
        """Keep the result of a switchback trial."""
        ...

    def event(self, event: LogEvent) -> None:
        """Add an event to the log."""
        ...


class AgentCommands:
    """The commands. Those that change something wait for the current tick; those that only read do not."""

    def __init__(self, agent: Commanded, period_s: float = 0.5) -> None:
        self._agent = agent
        # Many may ask at once, and a node may have thousands of targets.
        self._status = Rendered(self._render_status, period_s)
        self._verbs: dict[str, Callable[[Arguments], Answer]] = {
            "status": lambda _: self._status(),
            "explain": self._explain,
            "verify": self._verify,
            "why-not": lambda arguments: why_not(agent, str(arguments.get("target", ""))),
            "mode": self._mode,
            "pause": lambda arguments: self._pause(arguments, agent.paused.add),
            "resume": self._resume,
            "restore": self._restore,
            "trial": self._trial,
        }

    def handle(self, verb: str, arguments: Arguments) -> Answer:
        """Answer one request."""
        if verb not in self._verbs:
            raise UsageError(f"unknown request {verb!r}{did_you_mean(verb, self._verbs)}")
        if verb in READ_VERBS:
            return self._verbs[verb](arguments)
        with self._agent.mutex:
            answer = self._verbs[verb](arguments)
        self._status.outdated()
        said = {key: str(value) for key, value in arguments.items() if value is not None}
        self._agent.event(ControlEvent(time_s=time.time(), verb=verb, arguments=said))
        return answer

    def _render_status(self) -> bytes:
        return encoded({"ok": True, **document(self._agent.status(), time.time())})

    def _explain(self, arguments: Arguments) -> Mapping[str, Any]:
        agent = self._agent
        name, keep = str(arguments.get("id", "")), agent.config.log_keep
        found = explain(agent.places.log, name, keep=keep, pace=CoreShare(SHARE))
        return {
            "decision": dump(found.decision),
            "effect": None if found.effect is None else dump(found.effect),
        }

    def _verify(self, arguments: Arguments) -> Mapping[str, Any]:
        """The knobs that differ from what this agent last set, and the commands that undo everything."""
        places = self._agent.places
        found = verify_all(places.root, places.state_dir, search_s=ANSWER_SEARCH_S)
        return {
            "findings": [asdict(one) for one in found.differences],
            "rollback": list(found.rollback),
            "notes": list(found.notes),
        }

    def _mode(self, arguments: Arguments) -> Mapping[str, Any]:
        wanted = str(arguments.get("mode", ""))
        if wanted not in list(Mode):
            raise UsageError(f"mode {wanted!r} is not one of {', '.join(Mode)}{did_you_mean(wanted, Mode)}")
        self._agent.set_mode(Mode(wanted))
        return {"mode": wanted}

    def _pause(self, arguments: Arguments, change: Callable[[str], None]) -> Mapping[str, Any]:
        name = str(arguments.get("target") or "*")
        change(self._known(name))
        return {"paused": sorted(self._agent.paused)}

    def _resume(self, arguments: Arguments) -> Mapping[str, Any]:
        """End a pause. With `take_back`, also manage the given-up knobs of the named targets again."""
        name = str(arguments.get("target") or "")
        if not arguments.get("take_back"):
            if name:
                self._agent.paused.discard(self._known(name))
            else:
                # Everything is what was paused, by whatever name.
                self._agent.paused.clear()
            return {"paused": sorted(self._agent.paused), "left": self._left(name)}
        if not name:
            raise UsageError("taking knobs back from their administrator needs a target or a file system")
        taken = self._agent.take_back(self._known(name))
        return {**self._pause(arguments, self._agent.paused.discard), "taken_back": taken}

    def _left(self, name: str) -> list[dict[str, Any]]:
        """The named targets, or all, of which knobs stay their administrator's."""
        known = self._known(name) if name else ""
        held = {
            target.name: sorted(self._agent.manual_knobs(target))
            for target in self._agent.targets()
            if known in ("", "*", target.name, target.fs)
        }
        return [{"target": target, "knobs": knobs} for target, knobs in held.items() if knobs]

    def _known(self, name: str) -> str:
        """The full name of a target, a file system, or something paused earlier."""
        if name == "*" or name in self._agent.paused:
            return name
        return resolve(name, self._agent.targets())

    def _restore(self, arguments: Arguments) -> Mapping[str, Any]:
        """Restore everything and change nothing until resumed."""
        agent = self._agent
        agent.paused.add("*")
        restored = [agent.restore(target) for target in agent.touched()]
        return {"restored": restored, "paused": sorted(agent.paused)}

    def _trial(self, arguments: Arguments) -> Mapping[str, Any]:
        """Keep the verdict of a switchback trial, which comes first in status and report, or forget it."""
        if arguments.get("forget"):
            forgotten = self._agent.forget_trial()
            return {"forgotten": None if forgotten is None else dump(forgotten)}
        try:
            figures = {key: float(arguments[key]) for key in ("gain", "low", "high", "pairs")}
        except (KeyError, TypeError, ValueError, OverflowError):
            raise UsageError(A_TRIAL) from None
        if not all(math.isfinite(figure) for figure in figures.values()):
            raise UsageError(A_TRIAL)
        pairs = int(figures.pop("pairs"))
        found = TrialEvent(time_s=time.time(), **figures, pairs=pairs)
        self._agent.note_trial(found)
        return {"trial": dump(found)}
