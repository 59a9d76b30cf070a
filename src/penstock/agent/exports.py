"""From a running agent to its metrics: gathers the figures, opens the ways out the configuration names."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import __version__
from penstock.agent.loop import Step
from penstock.agent.node import lies_on_lustre, node_view
from penstock.agent.settings import MetricsSection, Mode
from penstock.errors import ConfigError
from penstock.serve.status import AgentStatus, NodeStatus, Pace, Tallies, TargetStatus
from penstock.snapshot import Target, TargetSnapshot
from penstock.spaces import LUSTRE
from penstock.units import MIB
from penstock.window import Window

if TYPE_CHECKING:
    from penstock.agent.service import Agent
    from penstock.serve.exposition import MetricsFile, MetricsPage

_SCALES = {knob.id: MIB if knob.unit == "MiB" else 1 for knob in LUSTRE.knobs}


class Stopwatch:
    """Measures the loop: how many ticks, how long they took, how many outlasted their interval."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._pace = Pace(time.time(), 0.0, 0, 0.0, 0)

    def tick(self, took_s: float) -> None:
        """One tick is done."""
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


class Exports:
    """The metrics of one agent, on whatever threads their readers need; closed with it."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._open: list[MetricsPage | MetricsFile] = []
        self.port: int | None = None
        settings = agent.config.metrics
        if settings.listen or settings.textfile:
            self._start(settings)

    def close(self) -> None:
        """Stop showing anything."""
        for way_out in self._open:
            way_out.close()
        self._open = []

    def _start(self, settings: MetricsSection) -> None:
        from penstock.serve.exposition import MetricsFile, MetricsPage
        from penstock.serve.metrics import AgentCollector, registry, text

        own = registry(AgentCollector(lambda: gather(self._agent), per_target=settings.per_target))
        if settings.textfile:
            path = Path(settings.textfile)
            _refuse_lustre(path)
            self._open.append(MetricsFile(path, settings.textfile_period_s, lambda: text(own)))
        if settings.listen:
            page = MetricsPage(settings.address, lambda: text(own))
            self.port = page.port
            self._open.append(page)


def gather(agent: Agent) -> AgentStatus:
    """The agent's figures now. Takes no lock: whatever is read is replaced as a whole by the loop."""
    seen = agent.loop.before.targets if agent.loop.before is not None else ()
    labels = _labels([snapshot.target for snapshot in seen])
    latest = agent.latest
    return AgentStatus(
        version=__version__,
        mode=agent.mode.value,
        modes=tuple(Mode),
        policy=agent.policy_name,
        paused="*" in agent.paused,
        problems=len(agent.voice.standing()),
        lost_log_lines=agent.log.lost,
        jobs=len(agent.jobs.running),
        pace=agent.stopwatch.pace,
        node=node_status(agent),
        targets=tuple(
            _target(snapshot, labels[snapshot.target.name], latest.get(snapshot.target)) for snapshot in seen
        ),
        tallies=_tallies(agent, labels),
    )


def node_status(agent: Agent) -> NodeStatus:
    """Memory and the dirty budget, with what all targets hold of it."""
    seen = agent.loop.before.targets if agent.loop.before is not None else ()
    view = node_view(agent.places.root, agent.config.cache_ratio)
    limits = sum(snapshot.setting.get("dirty", 0) for snapshot in seen) * MIB
    budget = view.dirty_budget_mib
    known = budget * MIB if budget != float("inf") else None
    return NodeStatus(limits, known, view.memory_available_ratio)


def _target(snapshot: TargetSnapshot, label: str, step: Step | None) -> TargetStatus:
    knobs = {knob_id: float(value * _SCALES.get(knob_id, 1)) for knob_id, value in snapshot.setting.items()}
    trusted = step is not None and isinstance(step.window, Window)
    return TargetStatus(snapshot.target.fs, label, knobs, snapshot.counters, trusted)


def _labels(targets: list[Target]) -> dict[str, str]:
    """Short names where they are unique within their file system: a remount then continues its series."""
    shared = Counter((target.fs, target.resource) for target in targets)
    return {
        target.name: target.resource
        if target.resource and shared[(target.fs, target.resource)] == 1
        else target.name
        for target in targets
    }


def _tallies(agent: Agent, labels: dict[str, str]) -> Tallies:
    ledger = agent.ledger
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
        job_marks=agent.jobs.marks,
    )


def _refuse_lustre(path: Path) -> None:
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if lies_on_lustre(path.parent.resolve(), mounts):
        raise ConfigError(f"metrics.textfile {path}: on a Lustre file system, which the agent tunes")
