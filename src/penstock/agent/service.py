"""The agent as a process: wiring, modes, signals, and restoring at the end.

It only observes unless told otherwise. Every change is in the journal before it is made, and every decision is in the
log. When the agent stops, it restores what the rollback setting says. After a crash `penstock agent restore` does
that.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from penstock import events
from penstock.actuate.knob_errors import JournalUnwritableError, TargetUnusableError
from penstock.actuate.lock import StateLock
from penstock.agent.agent_ledger import AgentLedger
from penstock.agent.clock import MonotonicClock
from penstock.agent.commands import AgentCommands
from penstock.agent.compiling import Compiling, walks_compiled
from penstock.agent.control import ControlServer
from penstock.agent.discovery import discover, sentences
from penstock.agent.ending import holding, take_every
from penstock.agent.exports import Exports
from penstock.agent.filesystems import CLIENT, node_job, open_actuator, open_observer
from penstock.agent.footprint import settling
from penstock.agent.jobs import DIRECTORY as JOBS_DIRECTORY
from penstock.agent.jobs import JobBook, boot_time_s
from penstock.agent.knowledge import KnowledgeFile
from penstock.agent.log import DecisionLog, decision_event, effect_event, outcome_event, unlogged
from penstock.agent.loop import Loop, Step, next_due_s
from penstock.agent.model_choice import load_predictor
from penstock.agent.node_limits import node_view
from penstock.agent.presence import Presence
from penstock.agent.rate_limited_log import RateLimitedLog
from penstock.agent.run_start import RunStart, start_of
from penstock.agent.settings import AgentConfig, Mode, Rollback
from penstock.agent.sharing.sharer import Sharer
from penstock.agent.standing import Stopwatch, gather, is_paused
from penstock.agent.startup import Places, open_journal, prepare, recover
from penstock.agent.surveyed import surveyed
from penstock.agent.watchdog import Watchdog, notify
from penstock.agent.window_recording import WindowRecorder
from penstock.agent.work_diary import WorkDiary
from penstock.decide.policies._base import Policy
from penstock.decision import Decision, Receipt, made
from penstock.errors import InvalidError, ModelFileError
from penstock.knobs import Setting
from penstock.observe.meminfo import dirty_budget_mib
from penstock.ports import Ports, Predictor
from penstock.serve.status import AgentStatus
from penstock.snapshot import NodeSnapshot, Target
from penstock.stopping import STOP
from penstock.window import Window

log = logging.getLogger(__name__)


class Agent:
    """One running agent. The constructor restores what a dead agent left behind. `run` returns when stopped."""

    def __init__(
        self,
        config: AgentConfig,
        places: Places,
        policy: type[Policy],
    ) -> None:
        self.config, self.places, self.policy_name = config, places, policy.name
        self.mode = config.mode
        self.paused: set[str] = set()
        self.messages = RateLimitedLog(log)
        self.ledger = AgentLedger()
        self.stopwatch = Stopwatch(config.interval_s)
        self.jobs = JobBook(places.state_dir / JOBS_DIRECTORY, node_job=partial(node_job, places.root))
        self.latest: dict[Target, Step] = {}
        self._presence = Presence()
        self.mutex = threading.Lock()
        self.clock = MonotonicClock()
        # Each agent draws its own seed, so that nodes do not act in step.
        self.seed = int.from_bytes(os.urandom(4), "big")
        self._advised: dict[Target, tuple[str, ...]] = {}
        #: The knobs of each target that are known to be its administrator's, with the administrator's values.
        self._given_up: dict[Target, Setting] = {}
        prepare(places)
        with STOP.finishing():
            recover(places)
        self._lock = StateLock(places.state_dir)
        self._journal = open_journal(places)
        predictor = self._predictor = self._find_predictor(policy)
        self._compiling = Compiling(predictor, config.compile, places.state_dir)
        self._why_not_tune = self._find_obstacle(policy, predictor)
        if self.mode is Mode.TUNE and self._why_not_tune:
            self.mode = Mode.OBSERVE
            self.messages.condition(f"observing only: {self._why_not_tune}", lasting=True)
        self.log = DecisionLog(places.log, config.log_max_bytes, config.log_keep)
        self._observer = open_observer(places.root, config.scope.reach(), peek=True)
        self._actuator = open_actuator(places.root, self._journal, config.scope.reach())
        self._knowledge = KnowledgeFile(places.state_dir)
        self._knowledge.load()
        self.sharer = Sharer(config, places.root, self.seed)
        self._diary = WorkDiary()
        self.loop = self._make_loop(policy, predictor)

    def run(self) -> None:
        """Work until SIGTERM or SIGINT, then restore what the rollback setting says."""
        STOP.hand_over(self.clock.stop)
        STOP.install()
        exports = Exports(self.config.metrics, self.status, self.config.interval_s)
        self.jobs.open(boot_time_s())
        control = ControlServer(self.places.socket, AgentCommands(self, self.config.interval_s).handle)
        watchdog = Watchdog(max(self.config.watchdog_s, 2 * self.config.interval_s))
        self.event(
            events.StartEvent(
                time_s=time.time(),
                mode=self.mode.value,
                policy=self.policy_name,
                interval_s=self.config.interval_s,
                seed=self.seed,
                format=events.FORMAT,
            )
        )
        for unit in self._knowledge.loaded():
            self.event(events.RememberedEvent(time_s=time.time(), unit=unit))
        findings = discover(self.places.root, self._actuator, self._in_scope)
        for line in sentences(findings):
            log.info("%s", line)
        for finding in findings:
            about = {"target": finding.name, "fs": finding.fs, "why": finding.why}
            self.event(events.FoundEvent(time_s=time.time(), **about, tuned=tuple(finding.tuned)))
        notify("READY=1")
        try:
            self._work(watchdog, (control, exports, self.sharer))
        finally:
            # The originals first, and each step by itself: a socket that cannot be closed keeps no knob.
            kept, recorder = self.config.rollback is Rollback.NOT_ON_EXIT, self.loop.recorder
            take_every(
                holding(self.mutex, lambda: None if kept else self.give_back()),
                lambda: notify("STOPPING=1"),
                lambda: self._knowledge.keep(self.loop.tuner.remembered(), time.time()),
                lambda: self.log.append_all(self._diary.entries(time.time())),
                lambda: self.event(events.StopEvent(time_s=time.time())),
                lambda: None if recorder is None else recorder.flush(),
                *(one.close for one in (self.sharer, control, exports, watchdog, self._observer)),
                self._lock.release,
            )

    def status(self) -> AgentStatus:
        """The present status. It may be called from any thread."""
        return gather(self)

    def targets(self) -> tuple[Target, ...]:
        """Every client data path there is now."""
        return self._actuator.targets()

    def set_mode(self, wanted: Mode) -> None:
        """Change the mode. Leaving `tune` restores what the rollback setting allows."""
        if wanted is Mode.TUNE and self._why_not_tune:
            raise InvalidError(f"only observing is possible: {self._why_not_tune}")
        if self.mode is Mode.TUNE and wanted is not Mode.TUNE:
            self.give_back()
        self.mode = wanted

    def give_back(self) -> None:
        """Restore every changed target; under `on_idle` only idle ones."""
        for target in self.touched():
            if self.config.rollback is not Rollback.ON_IDLE or not self._is_busy(target):
                try:
                    self.restore(target)
                except Exception:
                    # What is wrong with one target must not keep another from its originals.
                    log.exception("restore %s", target.name)

    def restore(self, target: Target) -> dict[str, Any]:
        """Restore one target's originals and forget what was learned about it."""
        receipt = self._actuator.restore(target)
        self.loop.forget(target)
        outcome = {"target": target.name, "actual": dict(receipt.actual), "error": receipt.error}
        self.event(
            events.RestoreEvent(
                time_s=time.time(), target=target.name, actual=receipt.actual, error=receipt.error
            )
        )
        self.ledger.restores += 1
        if receipt.error:
            log.warning("restore %s: %s", target.name, receipt.error)
        return outcome

    def take_back(self, name: str) -> list[dict[str, Any]]:
        """Manage the knobs again that a target, or the targets of a file system, had given up. Each is logged.

        From now on the administrator's value is the original, which a restore brings back.
        """
        named = [target for target in self.targets() if name in (target.name, target.fs)]
        taken = []
        for target in named:
            if knobs := self._actuator.take_back(target):
                outcome = {"target": target.name, "knobs": dict(knobs)}
                self.event(events.TakeBackEvent(time_s=time.time(), target=target.name, knobs=knobs))
                self.loop.look_again(target)
                taken.append(outcome)
        return taken

    def touched(self) -> list[Target]:
        """The present targets that have a setting of ours."""
        names = set(self._journal.entries)
        return [target for target in self.targets() if target.name in names] if names else []

    def manual_knobs(self, target: Target) -> frozenset[str]:
        """The knobs of a target that belong to its administrator."""
        entry = self._journal.get(target.name)
        return entry.manual if entry is not None else frozenset()

    def note_trial(self, trial: events.TrialEvent) -> None:
        """Keep the result of a switchback trial, which comes first in `status` and `report`."""
        self.ledger.trial = trial
        self.event(trial)

    def forget_trial(self) -> events.TrialEvent | None:
        """Drop the result of the last switchback trial and return what this run knows of it.

        Reports of the log drop it too, whichever run made it.
        """
        forgotten, self.ledger.trial = self.ledger.trial, None
        self.event(events.TrialForgottenEvent(time_s=time.time()))
        return forgotten

    def event(self, event: events.LogEvent) -> None:
        """Add an event that is not a decision to the log."""
        self.log.append(event)

    def _work(self, watchdog: Watchdog, services: tuple[ControlServer, Exports, Sharer]) -> None:
        due_s = self.clock.now()
        settled: Iterator[None] | None = None
        while not self.clock.stopping:
            began_s = self.clock.now()
            with self.mutex:
                self.tick()
            self.stopwatch.tick(self.clock.now() - began_s)
            watchdog.beat()
            if settled is None:
                # After the first observation, with one step between two observations, because it takes long on a slow
                # core.
                settled = settling(self._predictor, surveyed(self._predictor, self.loop.spaces_in_scope()))
            next(settled, None)
            watchdog.beat()
            for service in services:
                service.staff()
            due_s = next_due_s(due_s, self.config.interval_s, self.clock.now())
            self.clock.sleep_until(due_s)

    def tick(self) -> None:
        """One interval: observe, decide, set, and log. The caller decides when."""
        self.loop.acting = self.mode is Mode.TUNE
        self._take_marks()
        steps = self.loop.tick()
        self.ledger.take(steps)
        self.latest = {step.window.target: step for step in steps}
        for step in steps:
            if step.decision is not None and step.decision.changes and self.mode is not Mode.OBSERVE:
                self._log_change(step)
        untuned = () if self.mode is Mode.TUNE else tuple(step.window for step in steps)
        self.log.append_all(self._diary.note(untuned, self.clock.now(), time.time()))
        self._log_effects()
        if self.loop.before is not None:
            self._notice_others(self.loop.before)
            self._say_what_was_seen(self.loop.before)
            self._compiling.consider(len(self.loop.before.targets))
        findings = self.loop.tuner.findings if self.mode is Mode.TUNE else list
        for problem in self.sharer.hand(findings, self.jobs.running, self.clock.now()):
            self.messages.condition(problem)
        self.messages.settle()
        self._knowledge.keep_when_due(self.loop.tuner.remembered, time.time())
        if self.config.rollback is Rollback.ON_IDLE:
            self._give_back_idle()

    def _take_marks(self) -> None:
        """Record jobs that began or ended. If a job asked to be left alone, the originals are restored at once."""
        left_alone = self.jobs.hands_off
        for mark in self.jobs.take_when_due(self.clock.now()):
            self.event(mark.event())
            if mark.hands_off and mark.what == "begin":
                self.messages.event(f"job {mark.job} asked to be left alone: originals back until it ends")
        if self.jobs.hands_off and not left_alone:
            for target in self.touched():
                self.restore(target)

    def _notice_others(self, snapshot: NodeSnapshot) -> None:
        """Give up knobs that somebody else has set, as soon as they are seen, whether or not a change is wished."""
        for seen in snapshot.targets if self._journal.entries else ():
            entry = self._journal.get(seen.target.name)
            if entry is not None and not entry.is_as_left(seen.setting):
                # Reads the files again, because the snapshot may be older than our own last change.
                try:
                    self._actuator.notice(seen.target)
                except (TargetUnusableError, JournalUnwritableError) as error:
                    self.messages.condition(naming(seen.target, str(error)))
            self._say_what_was_given_up(seen.target)

    def _say_what_was_given_up(self, target: Target) -> None:
        entry, before = self._journal.get(target.name), self._given_up.pop(target, Setting())
        if entry is None or not entry.manual:
            return
        theirs = self._given_up[target] = entry.original.only(*sorted(entry.manual))
        knobs = Setting({knob_id: value for knob_id, value in theirs.items() if before.get(knob_id) != value})
        if knobs:
            self.event(events.YieldEvent(time_s=time.time(), target=target.name, knobs=knobs))
            if not set(knobs) <= set(before):
                # Said once; that they set it again is in the log.
                self.messages.event(
                    f"{target.name}: somebody else set {knobs}, which is left to them from now on"
                )
            self.loop.look_again(target)

    def _say_what_was_seen(self, snapshot: NodeSnapshot) -> None:
        waiting = f"no {CLIENT} below {self.places.root}: waiting for a mount"
        if snapshot.targets:
            self.messages.over(waiting)
        else:
            self.messages.condition(waiting)
        for sighting in self._presence.note(snapshot):
            self.event(sighting.event(time.time()))
            self.messages.event(sighting.sentence)
        for problem in snapshot.problems:
            self.messages.condition(f"{problem.source}: {problem.message}")

    def _give_back_idle(self) -> None:
        """Under `on_idle`, restore a tuned target as soon as it is idle."""
        for target in self.touched():
            if not self.loop.tuner.is_active(target):
                self.restore(target)

    def _record(self, decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
        """Log the changes that are about to be made. A change that cannot be logged is not made."""
        moving = [decision for decision in decisions if decision.changes]
        events = [replace(self._decision_event(decision), pending=True) for decision in moving]
        written = self.log.append_all(events)
        lost = {decision.id for decision, ok in zip(moving, written, strict=True) if not ok}
        if not lost:
            return decisions
        self.messages.condition(
            f"{self.log.path}: {len(lost)} decisions cannot be written: no knob moves for them"
        )
        return tuple(unlogged(decision) if decision.id in lost else decision for decision in decisions)

    def _decision_event(self, decision: Decision) -> events.DecisionEvent:
        return decision_event(decision, time.time(), self.mode.value, self.jobs.running)

    def _log_change(self, step: Step) -> None:
        decision, receipt = step.decision, step.receipt
        if decision is None:
            return
        wish = tuple(str(change) for change in decision.changes)
        if receipt is None:
            if self._advised.get(decision.target) == wish:
                return
            self._advised[decision.target] = wish
            self.log.append(self._decision_event(decision))
        else:
            self.log.append(outcome_event(decision, receipt, time.time()))
        self.ledger.changed(decision, receipt, time.time())
        self._say_change(decision, receipt)

    def _say_change(self, decision: Decision, receipt: Receipt | None) -> None:
        """Log one line for a change that was made, one condition for a change that was refused.

        Both name the target.
        """
        moved = decision.changes if receipt is None else made(decision, receipt)
        if moved:
            what = f"{'advise' if receipt is None else 'set'} {decision.target.name}"
            self.messages.change(f"{what} {', '.join(map(str, moved))}: {decision.sentence} [{decision.id}]")
        if receipt is not None and receipt.error:
            self.messages.condition(naming(decision.target, receipt.error))

    def _log_effects(self) -> None:
        for effect in self.loop.guard.effects() if self.loop.guard else ():
            self.ledger.judged(effect)
            self.event(effect_event(effect, time.time()))

    def _find_predictor(self, policy: type[Policy]) -> Predictor | None:
        if not policy.uses_model:
            return None
        try:
            return load_predictor(policy.model_kind, self.config.model, self.places)
        except ModelFileError as error:
            self.messages.condition(str(error), lasting=True)
            return None

    def _policy_failed(self, what: str) -> None:
        self.ledger.policy_errors += 1
        self.messages.condition(f"policy {self.policy_name} failed, so its target is left alone: {what}")

    def _find_obstacle(self, policy: type[Policy], predictor: Predictor | None) -> str | None:
        if not self._journal.trusted:
            return self._journal.note
        if policy.uses_model and predictor is None:
            return f"policy {policy.name} has no usable model"
        return None

    def _is_busy(self, target: Target) -> bool:
        step = self.latest.get(target)
        return step is not None and isinstance(step.window, Window) and step.window.moved_per_s > 0

    def _in_scope(self, target: Target) -> bool:
        if self.jobs.hands_off or is_paused(target, self.paused):
            return False
        return self.config.scope.covers(target)

    def _make_loop(self, policy: type[Policy], predictor: Predictor | None) -> Loop:
        start = replace(
            start_of(self.config, policy, predictor, self.seed),
            cache_mib=dirty_budget_mib(self.places.root, self.config.cache_ratio),
            knowledge=self._knowledge.text(),
        )
        tuner, guard = start.deciders(policy, predictor, self._policy_failed)
        return Loop(
            Ports(self.clock, self._observer, self._actuator),
            tuner,
            self.config.interval_s,
            guard,
            lambda: node_view(self.places.root, self.config.cache_ratio),
            self._in_scope,
            acting=False,
            record=self._record,
            recorder=self._open_recorder(start),
            advice=self.sharer.advice,
        )

    def _open_recorder(self, start: RunStart) -> WindowRecorder | None:
        most = self.config.record_max_bytes
        if not most:
            return None
        recorder = WindowRecorder(self.places.windows, most, start, self.messages.condition)
        recorder.compiled = lambda: walks_compiled(self._predictor)
        return recorder


def naming(target: Target, error: str) -> str:
    """An error that names its target."""
    return error if target.name in error else f"{target.name}: {error}"
