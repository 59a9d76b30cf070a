"""Collects the agent's status without a lock and without a system call per target."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from typing import Protocol

from penstock import __version__
from penstock.agent.agent_ledger import AgentLedger
from penstock.agent.effect import headline
from penstock.agent.jobs import JobBook
from penstock.agent.log import DecisionLog
from penstock.agent.loop import Loop, Step
from penstock.agent.names import alone_in_their_place, short_names
from penstock.agent.node_limits import node_view
from penstock.agent.rate_limited_log import RateLimitedLog
from penstock.agent.settings import AgentConfig, Mode
from penstock.agent.startup import Places
from penstock.decision import Decision
from penstock.knobs import Role
from penstock.serve.status import AgentStatus, NodeStatus, Pace, Tallies, TargetStatus
from penstock.snapshot import Target, TargetSnapshot
from penstock.spaces import SPACES
from penstock.units import MIB
from penstock.window import Void

# A change counts as on trial for at most this long.
TRIAL_INTERVALS = 20
_KNOBS = [knob for space in SPACES for knob in space.knobs]
_SCALES = {knob.id: MIB if knob.unit == "MiB" else 1 for knob in _KNOBS}
_CACHE_UNITS = {knob.id: knob.unit_bytes for knob in _KNOBS if knob.role is Role.CACHE_LIMIT}


class Stopwatch:
    """Measures the loop: the number of ticks, their duration, and how many exceeded their interval."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._pace = Pace(time.time(), 0.0, 0, 0.0, 0)

    def tick(self, took_s: float) -> None:
        pace = self._pace
        overran = took_s > self._interval_s
        self._pace = Pace(
            pace.started_s,
            time.time(),
            pace.ticks + 1,
            pace.busy_s + took_s,
            pace.overruns + overran,
        )

    @property
    def pace(self) -> Pace:
        """All figures of one instant."""
        return self._pace


class Watched(Protocol):
    """The values that the status is made from. The loop replaces each as a whole."""

    config: AgentConfig
    places: Places
    policy_name: str
    mode: Mode
    paused: set[str]
    latest: dict[Target, Step]
    messages: RateLimitedLog
    ledger: AgentLedger
    stopwatch: Stopwatch
    jobs: JobBook
    log: DecisionLog
    loop: Loop

    def manual_knobs(self, target: Target) -> frozenset[str]:
        """The knobs of a target that belong to its administrator."""
        ...


def gather(agent: Watched) -> AgentStatus:
    """The present status. It may be called from any thread."""
    seen = agent.loop.before.targets if agent.loop.before is not None else ()
    labels = _labels(snapshot.target for snapshot in seen)
    return AgentStatus(
        version=__version__,
        pid=os.getpid(),
        mode=agent.mode.value,
        modes=tuple(Mode),
        policy=agent.policy_name,
        interval_s=agent.config.interval_s,
        rollback=agent.config.rollback.value,
        paused=tuple(sorted(agent.paused)),
        problems=tuple(agent.messages.standing()),
        lost_log_lines=agent.log.lost,
        jobs=agent.jobs.running,
        effect=headline(agent.ledger.trial, list(agent.ledger.gains)),
        hands_off=agent.jobs.hands_off,
        pace=agent.stopwatch.pace,
        node=_node(agent, seen),
        targets=_targets(agent, seen, labels),
        tallies=_tallies(agent.ledger, agent.jobs.marks, labels),
        root=str(agent.places.root),
        bounds=agent.loop.guard.bounds(agent.loop.ports.clock.now()) if agent.loop.guard is not None else (),
    )


def _node(agent: Watched, seen: Iterable[TargetSnapshot]) -> NodeStatus:
    """Memory and the dirty budget, with what all targets use of it."""
    view = node_view(agent.places.root, agent.config.cache_ratio)
    limits = sum(s.setting.get(knob_id, 0) * unit for s in seen for knob_id, unit in _CACHE_UNITS.items())
    return NodeStatus(limits, view.dirty_budget_mib * MIB, view.memory_available_ratio)


def _targets(
    agent: Watched, seen: Iterable[TargetSnapshot], labels: Mapping[str, str]
) -> tuple[TargetStatus, ...]:
    """The targets of the last observation, and those of the last interval that this observation missed."""
    latest, looked = agent.latest, {snapshot.target: snapshot for snapshot in seen}
    everyone = list(looked) + [target for target in latest if target not in looked]
    shorts = short_names(everyone)
    return tuple(
        _target(agent, target, looked.get(target), (labels.get(target.name, target.name), shorts[target]))
        for target in everyone
    )


def _target(
    agent: Watched, target: Target, snapshot: TargetSnapshot | None, names: tuple[str, str]
) -> TargetStatus:
    step, now_s = agent.latest.get(target), time.time()
    window = step.window if step is not None else None
    setting = snapshot.setting if snapshot is not None else {}
    rates = dict.fromkeys(target.kind.way_names, 0.0)
    if window is not None and not isinstance(window, Void):
        rates, setting = {way.name: window.rate(way.moved) for way in target.kind.ways}, window.setting
    knobs = snapshot.setting if snapshot is not None else {}
    decision = step.decision if step is not None else None
    return TargetStatus(
        name=target.name,
        fs=target.fs,
        resource=target.resource,
        label=names[0],
        short=names[1],
        knobs={knob_id: float(value * _SCALES.get(knob_id, 1)) for knob_id, value in knobs.items()},
        counters=snapshot.counters if snapshot is not None else {},
        setting=setting,
        void=str(window.reason) if isinstance(window, Void) else None,
        seen=window is not None,
        rates=rates,
        unit=target.kind.unit,
        kind=target.kind.name,
        whole_mount=target.kind.whole_mount,
        decision=decision.id if decision is not None else None,
        reason=decision.reason if decision is not None else None,
        sentence=_sentence(step, decision),
        wish=_wish(step),
        paused=is_paused(target, agent.paused),
        in_scope=agent.config.scope.covers(target),
        manual=tuple(sorted(agent.manual_knobs(target))),
        guard=agent.ledger.state(target, now_s, TRIAL_INTERVALS * agent.config.interval_s),
        last_change=agent.ledger.last.get(target.name),
    )


def is_paused(target: Target, paused: Set[str]) -> bool:
    """Whether a target, its file system or everything was paused."""
    return bool(paused & {"*", target.name, target.fs})


def _sentence(step: Step | None, decision: Decision | None) -> str | None:
    if step is not None and step.receipt is not None and step.receipt.error:
        return f"not all done: {step.receipt.error}"
    return decision.sentence if decision is not None else None


def _wish(step: Step | None) -> tuple[str, ...]:
    if step is None or step.decision is None or step.receipt is not None:
        return ()
    return tuple(str(change) for change in step.decision.changes)


def _labels(targets: Iterable[Target]) -> dict[str, str]:
    """Short names if they are unique within their file system, so that metrics continue after a remount."""
    known = tuple(targets)
    alone = alone_in_their_place(known)
    return {target.name: target.resource if target in alone else target.name for target in known}


def _tallies(ledger: AgentLedger, job_marks: int, labels: Mapping[str, str]) -> Tallies:
    return Tallies(
        knob_changes={
            (fs, labels.get(name, name), knob_id): count
            for (fs, name, knob_id), count in dict(ledger.knob_changes).items()
        },
        changes=dict(ledger.changes),
        advices=dict(ledger.advices),
        refusals=dict(ledger.refusals),
        voids=dict(ledger.voids),
        guarded_now=Counter(ledger.guarded.values()),
        failures=ledger.failures,
        restores=ledger.restores,
        job_marks=job_marks,
        policy_errors=ledger.policy_errors,
    )
