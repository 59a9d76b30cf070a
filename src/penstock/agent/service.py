"""The agent as a process: wiring, modes, signals, and giving everything back.

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
from typing import Any

from penstock.actuate.lock import StateLock
from penstock.actuate.lustre import LustreActuator
from penstock.agent.clock import MonotonicClock
from penstock.agent.commands import Commands
from penstock.agent.control import ControlServer
from penstock.agent.exports import Exports, Stopwatch
from penstock.agent.footprint import settle
from penstock.agent.jobs import DIRECTORY as JOBS_DIRECTORY
from penstock.agent.jobs import JobBook, boot_time_s
from penstock.agent.ledger import Ledger
from penstock.agent.log import DecisionLog, decision_event
from penstock.agent.loop import Loop, Ports, Step, next_due_s
from penstock.agent.models import load_predictor
from penstock.agent.node import node_view
from penstock.agent.settings import AgentConfig, Mode, Rollback
from penstock.agent.startup import Places, open_journal, prepare, recover
from penstock.agent.voice import Voice
from penstock.agent.watchdog import Watchdog, notify
from penstock.decide.cache import CacheBudget
from penstock.decide.guard import Guard
from penstock.decide.policies._base import Policy
from penstock.decide.tuner import Tuner
from penstock.errors import InvalidError, MissingError, ModelFileError
from penstock.observe.collector import LustreObserver
from penstock.ports import Predictor
from penstock.snapshot import Target
from penstock.window import Window

log = logging.getLogger(__name__)


class Agent:
    """One running agent. Built, it has only given back what a dead one left; `run` returns when stopped."""

    def __init__(
        self,
        config: AgentConfig,
        places: Places,
        policy: type[Policy],
    ) -> None:
        self.config, self.places, self.policy_name = config, places, policy.name
        self.mode = config.mode
        self.paused: set[str] = set()
        self.voice = Voice(log)
        self.ledger = Ledger()
        self.stopwatch = Stopwatch(config.interval_s)
        self.jobs = JobBook(places.state_dir / JOBS_DIRECTORY)
        self.latest: dict[Target, Step] = {}
        self.ticks = 0
        self.mutex = threading.Lock()
        self.clock = MonotonicClock()
        # Nodes must not act in step, so each agent draws a seed of its own.
        self.seed = int.from_bytes(os.urandom(4), "big")
        self._advised: dict[Target, tuple[str, ...]] = {}
        prepare(places)
        recover(places)
        self._lock = StateLock(places.state_dir)
        self._journal = open_journal(places)
        predictor = self._find_predictor(policy)
        settle(predictor)
        self._why_not_tune = self._find_obstacle(policy, predictor)
        if self.mode is Mode.TUNE and self._why_not_tune:
            self.mode = Mode.OBSERVE
            self.voice.condition(f"observing only: {self._why_not_tune}", lasting=True)
        self.log = DecisionLog(places.log, config.log_max_bytes, config.log_keep)
        self._observer = LustreObserver(places.root, peek=True)
        budget_mib = self._budget_mib()
        self._actuator = LustreActuator(places.root, self._journal, node_limit_mib=budget_mib)
        self.loop = self._make_loop(policy, predictor, budget_mib)

    def run(self) -> None:
        """Work until SIGTERM or SIGINT, then give back what the rollback policy says."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.clock.stopping.set())
        exports = Exports(self)
        self.jobs.open(boot_time_s())
        control = ControlServer(self.places.socket, Commands(self).handle)
        watchdog = Watchdog(max(self.config.watchdog_s, 2 * self.config.interval_s))
        self.event(
            "start",
            mode=self.mode,
            policy=self.policy_name,
            interval_s=self.config.interval_s,
            seed=self.seed,
        )
        notify("READY=1")
        try:
            self._work(watchdog)
        finally:
            notify("STOPPING=1")
            control.close()
            exports.close()
            if self.config.rollback is not Rollback.NOT_ON_EXIT:
                self.give_back()
            self.event("stop")
            watchdog.close()
            self._observer.close()
            self._lock.release()

    def set_mode(self, wanted: Mode) -> None:
        """Switch; leaving tune gives back what the rollback policy allows."""
        if wanted is Mode.TUNE and self._why_not_tune:
            raise InvalidError(f"only observing is possible: {self._why_not_tune}")
        if self.mode is Mode.TUNE and wanted is not Mode.TUNE:
            self.give_back()
        self.mode = wanted

    def give_back(self) -> None:
        """Restore every touched target; under `on_idle` only those that are."""
        for target in self.touched():
            if self.config.rollback is not Rollback.ON_IDLE or not self._is_busy(target):
                self.restore(target)

    def restore(self, target: Target) -> dict[str, Any]:
        """Bring one target's originals back and forget what was learned of it."""
        receipt = self._actuator.restore(target)
        self.loop.tuner.forget(target)
        outcome = {"target": target.name, "actual": dict(receipt.actual), "error": receipt.error}
        self.event("restore", **outcome)
        self.ledger.restores += 1
        if receipt.error:
            log.warning("restore %s: %s", target.name, receipt.error)
        return outcome

    def take_back(self, name: str) -> list[dict[str, Any]]:
        """Manage the knobs again that a target, or a file system's targets, had yielded; each is logged.

        What the administrator set is the original from now on: it is what a restore brings back.
        """
        named = [target for target in self._actuator.targets() if name in (target.name, target.fs)]
        if not named:
            raise MissingError(f"{name}: no such target or file system on this client")
        taken = []
        for target in named:
            if knobs := self._actuator.take_back(target):
                outcome = {"target": target.name, "knobs": dict(knobs)}
                self.event("take_back", **outcome)
                self.loop.look_again(target)
                taken.append(outcome)
        return taken

    def touched(self) -> list[Target]:
        """The targets at hand that hold something of ours."""
        names = set(self._journal.entries)
        return [target for target in self._actuator.targets() if target.name in names] if names else []

    def manual_knobs(self, target: Target) -> frozenset[str]:
        """The knobs of a target that belong to its administrator."""
        entry = self._journal.get(target.name)
        return entry.manual if entry is not None else frozenset()

    def event(self, kind: str, **fields: Any) -> None:
        """Put something other than a decision into the log."""
        self.log.append({"event": kind, "time_s": time.time(), **fields})

    def _work(self, watchdog: Watchdog) -> None:
        due_s = self.clock.now()
        while not self.clock.stopping.is_set():
            began_s = self.clock.now()
            with self.mutex:
                self._tick()
            self.stopwatch.tick(self.clock.now() - began_s)
            watchdog.beat()
            due_s = next_due_s(due_s, self.config.interval_s, self.clock.now())
            self.clock.sleep_until(due_s)

    def _tick(self) -> None:
        self.loop.acting = self.mode is Mode.TUNE
        self.ticks += 1
        for mark in self.jobs.take_when_due(self.clock.now()):
            self.log.append(mark.event())
        steps = self.loop.tick()
        self.ledger.take(steps)
        self.latest = {step.window.target: step for step in steps}
        for step in steps:
            if step.decision is not None and step.decision.changes and self.mode is not Mode.OBSERVE:
                self._log_change(step)
        self._log_effects()
        for problem in self.loop.before.problems if self.loop.before else ():
            self.voice.condition(f"{problem.source}: {problem.message}")
        self.voice.settle()
        if self.config.rollback is Rollback.ON_IDLE:
            self._give_back_idle()

    def _give_back_idle(self) -> None:
        """Under `on_idle`, a target that was tuned and now rests gets its originals back at once."""
        for target in self.touched():
            if not self.loop.tuner.is_active(target):
                self.restore(target)

    def _log_change(self, step: Step) -> None:
        decision, receipt = step.decision, step.receipt
        if decision is None:
            return
        wish = tuple(str(change) for change in decision.changes)
        if receipt is None:
            if self._advised.get(decision.target) == wish:
                return
            self._advised[decision.target] = wish
        event = decision_event(decision, receipt, time.time())
        self.log.append({**event, "mode": self.mode.value, "jobs": list(self.jobs.running)})
        self.ledger.changed(decision, receipt, time.time())
        verb = "advise" if receipt is None else "set"
        what = f"{verb} {decision.target.name} {', '.join(wish)}"
        self.voice.change(f"{what}: {decision.sentence} [{decision.id}]")
        if receipt is not None and receipt.error:
            self.voice.condition(receipt.error)

    def _log_effects(self) -> None:
        for effect in self.loop.guard.effects() if self.loop.guard else ():
            self.ledger.judged(effect)
            self.event(
                "effect",
                decision=effect.decision_id,
                target=effect.target.name,
                before_bytes_per_s=effect.before_bytes_per_s,
                after_bytes_per_s=effect.after_bytes_per_s,
                control_ratio=effect.control_ratio,
            )

    def _find_predictor(self, policy: type[Policy]) -> Predictor | None:
        if not policy.uses_model:
            return None
        try:
            return load_predictor(policy.model_kind, self.config.model, self.places)
        except ModelFileError as error:
            self.voice.condition(str(error), lasting=True)
            return None

    def _find_obstacle(self, policy: type[Policy], predictor: Predictor | None) -> str | None:
        if not self._journal.trusted:
            return self._journal.note
        if policy.uses_model and predictor is None:
            return f"policy {policy.name} has no usable model"
        return None

    def _is_busy(self, target: Target) -> bool:
        step = self.latest.get(target)
        return step is not None and isinstance(step.window, Window) and step.window.bytes_per_s > 0

    def _in_scope(self, target: Target) -> bool:
        return self.config.scope.covers(target) and not self.paused & {"*", target.name, target.fs}

    def _budget_mib(self) -> int | None:
        """What all dirty limits may add up to; None where the node's memory cannot be read."""
        budget = node_view(self.places.root, self.config.cache_ratio).dirty_budget_mib
        return int(budget) if budget != float("inf") else None

    def _make_loop(self, policy: type[Policy], predictor: Predictor | None, budget_mib: int | None) -> Loop:
        cache = CacheBudget(budget_mib) if budget_mib is not None else None
        return Loop(
            Ports(self.clock, self._observer, self._actuator),
            Tuner(policy, self.seed, predictor, cache),
            self.config.interval_s,
            Guard(self.config.guard.limits(), self.seed),
            lambda: node_view(self.places.root, self.config.cache_ratio),
            self._in_scope,
            acting=False,
        )
