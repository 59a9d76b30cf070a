"""The agent as a process: wiring, modes, signals, control, and giving everything back.

It observes unless told otherwise. What it changes is in the journal first; what it decided is in the log;
what was tuned is given back when it stops, as the rollback policy says, or by `penstock agent restore` after
a crash.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.actuate.errors import JournalCorruptError
from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lock import StateLock
from penstock.actuate.lustre import LustreActuator
from penstock.actuate.recovery import restore_all
from penstock.agent.clock import MonotonicClock
from penstock.agent.control import ControlServer
from penstock.agent.log import DecisionLog, decision_event, read_log
from penstock.agent.loop import Loop, Ports, Step, next_due_s
from penstock.agent.node import lies_on_lustre, memory, node_view
from penstock.agent.settings import AgentConfig, Mode, Rollback
from penstock.agent.watchdog import Watchdog, notify
from penstock.decide.cache import CacheBudget
from penstock.decide.guard import Guard
from penstock.decide.policies._base import Policy
from penstock.decide.tuner import Tuner
from penstock.errors import AccessError, ConfigError, MissingError, UsageError, did_you_mean
from penstock.observe.collector import LustreObserver
from penstock.ports import Predictor
from penstock.snapshot import Target
from penstock.units import MIB
from penstock.window import Void, Window

log = logging.getLogger(__name__)

LOG_FILE, SOCKET_FILE = "decisions.jsonl", "control.sock"
HUNG_AFTER_S = 30.0


@dataclass(frozen=True, slots=True)
class Places:
    """Where the client is and where the agent keeps what it must not lose."""

    root: Path
    state_dir: Path

    @property
    def log(self) -> Path:
        """The decision log."""
        return self.state_dir / LOG_FILE

    @property
    def socket(self) -> Path:
        """The control socket."""
        return self.state_dir / SOCKET_FILE


class Agent:
    """One running agent. Built, it has changed nothing; `run` returns when it was told to stop."""

    def __init__(
        self,
        config: AgentConfig,
        places: Places,
        policy: type[Policy],
        predictor: Predictor | None = None,
    ) -> None:
        self.config, self.places = config, places
        self.mode = config.mode
        self.clock = MonotonicClock()
        self._started_s = time.time()
        self._paused: set[str] = set()
        self._ticks = 0
        self._latest: dict[Target, Step] = {}
        self._advised: dict[Target, tuple[str, ...]] = {}
        self._said: set[str] = set()
        self._mutex = threading.Lock()
        self._prepare_state_dir()
        self._recover()
        self._lock = StateLock(places.state_dir)
        self._journal = self._open_journal()
        self._log = DecisionLog(places.log, config.log_max_bytes, config.log_keep)
        self._observer = LustreObserver(places.root)
        self._loop = self._make_loop(policy, predictor)

    def run(self) -> None:
        """Work until SIGTERM or SIGINT, then give back what the rollback policy says."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.clock.stopping.set())
        control = ControlServer(self.places.socket, self._handle)
        watchdog = Watchdog(max(HUNG_AFTER_S, 10 * self.config.interval_s))
        self._event("start", mode=self.mode, policy=self._policy_name, interval_s=self.config.interval_s)
        notify("READY=1")
        try:
            self._work(watchdog)
        finally:
            notify("STOPPING=1")
            control.close()
            self._give_back(leaving=True)
            self._event("stop")
            watchdog.close()
            self._observer.close()
            self._lock.release()

    def _work(self, watchdog: Watchdog) -> None:
        due_s = self.clock.now()
        while not self.clock.stopping.is_set():
            with self._mutex:
                self._tick()
            watchdog.beat()
            due_s = next_due_s(due_s, self.config.interval_s, self.clock.now())
            self.clock.sleep_until(due_s)

    def _tick(self) -> None:
        self._loop.acting = self.mode is Mode.TUNE
        self._ticks += 1
        for step in self._loop.tick():
            self._latest[step.window.target] = step
            if step.decision is not None and step.decision.changes and self.mode is not Mode.OBSERVE:
                self._log_change(step)
        present = {seen.target for seen in self._loop.before.targets} if self._loop.before else set()
        self._latest = {target: step for target, step in self._latest.items() if target in present}
        for effect in self._loop.guard.effects() if self._loop.guard else ():
            self._event(
                "effect",
                decision=effect.decision_id,
                target=effect.target.name,
                before_bytes_per_s=effect.before_bytes_per_s,
                after_bytes_per_s=effect.after_bytes_per_s,
                control_ratio=effect.control_ratio,
            )
        for problem in self._loop.before.problems if self._loop.before else ():
            self._say_once(f"{problem.source}: {problem.message}")
        if self.config.rollback is Rollback.ON_IDLE:
            self._give_back(leaving=False)

    def _log_change(self, step: Step) -> None:
        decision = step.decision
        assert decision is not None
        if step.receipt is None:
            wish = tuple(str(change) for change in decision.changes)
            if self._advised.get(decision.target) == wish:
                return
            self._advised[decision.target] = wish
        event = decision_event(decision, step.receipt, time.time())
        self._log.append({**event, "mode": self.mode.value})
        what = ", ".join(event["changes"])
        verb = "advise" if step.receipt is None else "set"
        log.info("%s %s %s: %s [%s]", verb, decision.target.name, what, decision.sentence, decision.id)
        if step.receipt is not None and step.receipt.error:
            self._say_once(step.receipt.error)

    def _give_back(self, *, leaving: bool) -> None:
        """Restore what may be restored now: all, none, or the targets that are idle."""
        rollback = self.config.rollback
        if leaving and rollback is Rollback.NOT_ON_EXIT:
            return
        for target in self._touched():
            step = self._latest.get(target)
            busy = step is not None and isinstance(step.window, Window) and step.window.bytes_per_s > 0
            if rollback is Rollback.ON_IDLE and busy:
                continue
            self._restore(target)

    def _restore(self, target: Target) -> dict[str, Any]:
        receipt = self._actuator.restore(target)
        self._loop.tuner.forget(target)
        outcome = {"target": target.name, "actual": dict(receipt.actual), "error": receipt.error}
        self._event("restore", **outcome)
        if receipt.error:
            log.warning("restore %s: %s", target.name, receipt.error)
        return outcome

    def _touched(self) -> list[Target]:
        names = set(self._journal.entries) if self._journal is not None else set()
        return [target for target in self._actuator.targets() if target.name in names]

    def _handle(self, verb: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        verbs: dict[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
            "status": self._status,
            "explain": lambda arguments: explain(self.places.log, str(arguments.get("id", ""))),
            "mode": self._set_mode,
            "pause": lambda arguments: self._pause(arguments, paused=True),
            "resume": lambda arguments: self._pause(arguments, paused=False),
            "restore": self._restore_now,
        }
        if verb not in verbs:
            raise UsageError(f"unknown request {verb!r}{did_you_mean(verb, verbs)}")
        if verb in ("status", "explain"):
            return verbs[verb](arguments)
        with self._mutex:
            answer = verbs[verb](arguments)
        self._event("control", verb=verb, arguments={key: str(value) for key, value in arguments.items()})
        return answer

    def _status(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        rows = [_row(target, step) for target, step in sorted(dict(self._latest).items())]
        return {
            "pid": os.getpid(),
            "mode": self.mode.value,
            "policy": self._policy_name,
            "interval_s": self.config.interval_s,
            "rollback": self.config.rollback.value,
            "uptime_s": time.time() - self._started_s,
            "ticks": self._ticks,
            "paused": sorted(self._paused),
            "lost_log_lines": self._log.lost,
            "problems": sorted(self._said),
            "targets": rows,
        }

    def _set_mode(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        wanted = str(arguments.get("mode", ""))
        if wanted not in list(Mode):
            raise UsageError(f"mode {wanted!r} is not one of {', '.join(Mode)}{did_you_mean(wanted, Mode)}")
        if wanted == Mode.TUNE and self._journal is None:
            raise ConfigError("the journal is corrupt: only observing and advising are possible")
        if self.mode is Mode.TUNE and wanted != Mode.TUNE:
            self._give_back(leaving=False)
        self.mode = Mode(wanted)
        return {"mode": self.mode.value}

    def _pause(self, arguments: Mapping[str, Any], *, paused: bool) -> Mapping[str, Any]:
        name = str(arguments.get("target") or "*")
        (self._paused.add if paused else self._paused.discard)(name)
        return {"paused": sorted(self._paused)}

    def _restore_now(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Give everything back and stay out of the way until resumed."""
        self._paused.add("*")
        return {"restored": [self._restore(target) for target in self._touched()], "paused": ["*"]}

    def _in_scope(self, target: Target) -> bool:
        return self.config.scope.covers(target) and not self._paused & {"*", target.name, target.fs}

    def _make_loop(self, policy: type[Policy], predictor: Predictor | None) -> Loop:
        self._policy_name = policy.name
        budget = node_view(self.places.root, self.config.cache_ratio).dirty_budget_mib
        cache = CacheBudget(int(budget)) if budget != float("inf") else None
        known = memory(self.places.root)
        limit_mib = int(self.config.cache_ratio * known[0] / MIB) if known else None
        journal = self._journal if self._journal is not None else _Nowhere(self.places)
        self._actuator = LustreActuator(self.places.root, journal, node_limit_mib=limit_mib)
        seed = int.from_bytes(os.urandom(4), "big")
        return Loop(
            Ports(self.clock, self._observer, self._actuator),
            Tuner(policy, seed, predictor, cache),
            self.config.interval_s,
            Guard(self.config.guard.limits(), seed),
            lambda: node_view(self.places.root, self.config.cache_ratio),
            self._in_scope,
            acting=self.mode is Mode.TUNE,
        )

    def _prepare_state_dir(self) -> None:
        directory = self.places.state_dir
        try:
            directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        except PermissionError:
            raise AccessError(f"{directory}: permission denied") from None
        except OSError as error:
            raise ConfigError(f"{directory}: {error.strerror}") from None
        try:
            mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        if lies_on_lustre(directory.resolve(), mounts):
            raise ConfigError(
                f"{directory}: on a Lustre file system; the agent keeps nothing on what it tunes"
            )

    def _recover(self) -> None:
        """A journal with entries means that somebody died with knobs turned: give them back first."""
        try:
            outcome = restore_all(self.places.root, self.places.state_dir)
        except JournalCorruptError:
            return
        for moved in outcome.moved:
            log.warning("recovered %s: %s", moved.target, moved.change)
        for failure in outcome.failed:
            log.warning("not recovered: %s", failure)

    def _open_journal(self) -> Journal | None:
        try:
            return Journal(self.places.state_dir, owner_of(self.places.root))
        except JournalCorruptError as error:
            log.error("observing only: %s", error)
            self._said.add(f"observing only: {error}")
            if self.mode is Mode.TUNE:
                self.mode = Mode.OBSERVE
            return None

    def _event(self, kind: str, **fields: Any) -> None:
        self._log.append({"event": kind, "time_s": time.time(), **fields})

    def _say_once(self, sentence: str) -> None:
        if sentence not in self._said and len(self._said) < 1000:
            self._said.add(sentence)
            log.warning("%s", sentence)


class _Nowhere(Journal):
    """Stands in for a journal that cannot be trusted: it lets nothing be changed."""

    def __init__(self, places: Places) -> None:
        self.directory, self.owner = str(places.state_dir), owner_of(places.root)
        self.trusted, self.note = False, "the journal is corrupt"
        self._entries = {}


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
