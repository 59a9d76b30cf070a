"""Two copies of one simulated client, one at its defaults and one tuned, with disturbances that hit both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from penstock.agent.log import decision_event, effect_event, outcome_event, settled
from penstock.agent.loop import Step
from penstock.dash.source import Point, point_of
from penstock.decide.guard import NodeView
from penstock.decision_reasons import guard_rule
from penstock.errors import UsageError, did_you_mean
from penstock.evaluate.simulated_client import INTERVAL_S, Tuning, simulated_client
from penstock.evaluate.tuners import CACHE_RATIO
from penstock.events import DecisionEvent, EffectEvent, LogEvent
from penstock.knobs import Role
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import Cluster
from penstock.simulate.disturb import NEVER_S, asleep, begin_faults, end_faults, stop_job, wake_job
from penstock.simulate.faults import Fault
from penstock.simulate.simulation import Simulation
from penstock.units import GIB, MIB
from penstock.window import Window
from penstock.workload import NAMES, parse_workload

# The workloads to choose from. They have one stream each, which keeps the simulation small.
OTHER_WORKLOADS = tuple(name for name in NAMES if name.startswith("s_"))
SLOW_FACTOR = 5.0
DISTURBANCES = {
    "client": "another client does the same work on the same OSTs",
    "slow": f"the first OST's device takes {SLOW_FACTOR:g} times as long",
    "dead": "the first OST answers nobody",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """What to simulate: a cluster, the workload of its first client, and the policy."""

    cluster: Cluster
    workload: str
    policy: str
    seed: int = 0


class Twins:
    """Runs both clients in step."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self.workload = parse_workload(choice.workload).name
        self.on: set[str] = set()
        plan = _plan(choice)
        self._worlds = tuple(Simulation(plan) for _ in range(2))
        self._ram_bytes = int(choice.cluster.client.ram_gb * GIB)
        node = NodeView(CACHE_RATIO * self._ram_bytes / MIB)
        self._plain, self._tuned = (
            simulated_client(world, Tuning(policy), node=lambda: node)
            for world, policy in zip(self._worlds, ("default", choice.policy), strict=True)
        )
        self._guard = self._tuned.guard
        self._last: tuple[Step, ...] = ()
        self.bands: list[dict[str, Any]] = [{"from": 0.0, "to": None, "name": self.workload}]
        # The disturbances of both simulations, with their start and end.
        self.spans: list[dict[str, Any]] = []
        for loop in (self._plain, self._tuned):
            loop.tick()

    @property
    def now_s(self) -> float:
        """Virtual time in seconds."""
        return self._worlds[1].now_s

    def advance(self) -> tuple[list[Point], list[LogEvent]]:
        """Advance both by one interval.

        Returns the throughput of both clients, and the tuned one's decisions and effects.
        """
        due_s = self.now_s + INTERVAL_S
        for world in self._worlds:
            world.run_until(due_s)
        twin = {step.window.target: _bytes_per_s(step) for step in self._plain.tick()}
        steps = self._last = self._tuned.tick()
        points = [
            point_of(step.window, due_s, twin.get(step.window.target, 0.0))
            for step in steps
            if isinstance(step.window, Window)
        ]
        decided = [replace(one, guarded=self._guard is not None) for one in _decided(steps, due_s)]
        return points, [*decided, *self._judged(due_s)]

    def disturb(self, what: str, on: bool) -> str:
        """Begin or end a disturbance in both simulations. Returns a sentence about it."""
        if what not in DISTURBANCES:
            raise UsageError(f"unknown disturbance {what!r}{did_you_mean(what, DISTURBANCES)}")
        if on == (what in self.on):
            return f"nothing changed: {DISTURBANCES[what]}"
        faults = {"slow": [0], "dead": [1]}.get(what)
        for world in self._worlds:
            if faults is None:
                (wake_job if on else stop_job)(world, 1)
            else:
                (begin_faults if on else end_faults)(world, faults)
        self.on ^= {what}
        if on:
            self.spans.append({"from": self.now_s, "to": None, "what": what})
        else:
            next(span for span in self.spans if span["what"] == what and span["to"] is None)["to"] = (
                self.now_s
            )
        return f"{'from now on' if on else 'over'}: {DISTURBANCES[what]}"

    def work(self, name: str) -> str:
        """Change the workload of both clients."""
        known = [self.choice.workload, *OTHER_WORKLOADS]
        if name not in known:
            raise UsageError(f"{name!r} is not one of {', '.join(known)}{did_you_mean(name, known)}")
        if name == self.workload:
            return f"nothing changed: {name} runs already"
        for world in self._worlds:
            stop_job(world, self._job(self.workload))
            wake_job(world, self._job(name))
        self.workload = name
        self.bands[-1]["to"] = self.now_s
        self.bands.append({"from": self.now_s, "to": None, "name": name})
        return f"from now on: {name}"

    def totals_mbps(self) -> tuple[float, float]:
        """The mean application throughput of the untuned and of the tuned client so far."""
        plain, tuned = (world.totals(0).app_bytes / max(self.now_s, 1e-9) / 1e6 for world in self._worlds)
        return plain, tuned

    def status(self) -> dict[str, Any]:
        """The status of the tuned client, in the form that an agent reports."""
        cache = self._worlds[1].space.of_role(Role.CACHE_LIMIT)
        windows = [step.window for step in self._last if isinstance(step.window, Window)]
        limits = sum(w.setting.get(cache.id, 0) for w in windows) * MIB if cache is not None else 0
        bounds = self._guard.bounds(self.now_s) if self._guard is not None else ()
        return {
            "mode": "tune",
            "policy": self.choice.policy,
            "interval_s": INTERVAL_S,
            "paused": [],
            "problems": [DISTURBANCES[what] for what in sorted(self.on)],
            "jobs": [self.workload],
            "hands_off": [],
            "lost_log_lines": 0,
            "policy_errors": 0,
            "effect": None,
            "node": {
                "dirty_limits_bytes": limits,
                "dirty_budget_bytes": CACHE_RATIO * self._ram_bytes,
                "memory_available_ratio": None,
            },
            "bounds": [asdict(bound) for bound in bounds],
            "targets": [_row(step) for step in self._last],
        }

    def _job(self, name: str) -> int:
        return 0 if name == self.choice.workload else 2 + OTHER_WORKLOADS.index(name)

    def _judged(self, t_s: float) -> Iterator[EffectEvent]:
        for effect in self._guard.effects() if self._guard is not None else ():
            yield effect_event(effect, t_s)


def _plan(choice: Choice) -> Plan:
    """The plan.

    Everything that may happen later is in it from the start, inactive: the second client, the other workloads and
    both faults.
    """
    work = parse_workload(choice.workload)
    osts = tuple(range(min(work.streams, choice.cluster.layout.ost_count)))
    jobs = [Job(work, 0, osts=osts), asleep(Job(work, 1, osts=osts))]
    jobs += [asleep(Job(parse_workload(name), 0, osts=osts)) for name in OTHER_WORKLOADS]
    faults = (Fault("slow", NEVER_S, ost=0, factor=SLOW_FACTOR), Fault("fail", NEVER_S, ost=0))
    return Plan(choice.cluster, tuple(jobs), 2, choice.seed, faults=faults)


def _bytes_per_s(step: Step) -> float:
    return step.window.moved_per_s if isinstance(step.window, Window) else 0.0


def _decided(steps: tuple[Step, ...], t_s: float) -> Iterator[DecisionEvent]:
    """The changes as events of an agent's log, each with its outcome."""
    for step in steps:
        decision, receipt = step.decision, step.receipt
        if decision is not None and receipt is not None and decision.changes:
            yield settled(decision_event(decision, t_s, "tune"), outcome_event(decision, receipt, t_s))


def _row(step: Step) -> dict[str, Any]:
    window, decision = step.window, step.decision
    place = {"target": window.target.name, "short": f"{window.target.fs}-{window.target.resource}"}
    standing = {"paused": False, "in_scope": True, "manual": [], "guard": "", "last_change": None}
    if not isinstance(window, Window):
        return {**place, "void": str(window.reason), **standing}
    rule = guard_rule(decision.reason) if decision is not None else None
    return {
        **place,
        **standing,
        "setting": dict(window.setting),
        "read_bytes_per_s": window.rate("read.bytes"),
        "write_bytes_per_s": window.rate("write.bytes"),
        "sentence": decision.sentence if decision is not None else None,
        "guard": rule or "",
    }
