"""Drivers advance simulated time while the knobs are held, set by a policy on every client, or set by an oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.agent.loop import Loop
from penstock.decide.holding_back import rules_of
from penstock.decision import Decision
from penstock.evaluate.simulated_client import INTERVAL_S, Tuning, simulated_client
from penstock.evaluate.tuners import CACHE_RATIO
from penstock.knobs import Setting
from penstock.simulate.simulation import Simulation


@dataclass(frozen=True, slots=True)
class Switch:
    """From a time on, counted from the start of the simulation, some targets hold a setting.

    They are those of one client, and those on one OST, where named; else all.
    """

    setting: Setting
    from_s: float = 0.0
    client: int | None = None
    ost: int | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """How a run is driven: a setting held throughout, or a policy that starts after the warm-up.

    Only the `tuned` clients run the policy, or all if it is empty. `guard` switches the agent's guard on or off; None
    uses the policy's own choice (see `make_guard`). `cache_ratio` is the share of a node's memory that dirty limits
    may sum to. `limits_mib` holds such limits throughout, one per OST. `switches` change what is held, each at the
    first interval that begins at its time or later. A run `until_done` ends when every task with an end has reached
    it, and after `seconds` in any case.
    """

    seconds: float
    warmup_s: float
    setting: Setting | None = None
    policy: str | None = None
    tuned: tuple[int, ...] | None = None
    guard: bool | None = None
    model: str | None = None
    cache_ratio: float = CACHE_RATIO
    limits_mib: tuple[int, ...] | None = None
    switches: tuple[Switch, ...] = ()
    until_done: bool = False


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision that changed a knob: the time since the simulation began, the target and the reason.

    `wanted` has only the knobs that changed. `evidence` and `confidence` come from the policy.
    """

    t_s: float
    client: int
    ost: int
    before: Setting
    wanted: Setting
    reason: str
    sentence: str
    evidence: Mapping[str, float]
    confidence: float | None


class Driver(Protocol):
    """Advances time by one interval. `decided` collects every decision that was carried out, `held_back` how many
    windows each rule kept something from being tried (`penstock.decide.holding_back`).
    """

    decided: list[Decided]
    held_back: Counter[str]

    def advance(self) -> int:
        """Advance by one interval and return the number of knob values that changed."""
        ...


class Hold:
    """No knob is changed, except by the switches of the course."""

    def __init__(self, simulation: Simulation, switches: Sequence[Switch] = ()) -> None:
        self._simulation = simulation
        self._switches = sorted(switches, key=lambda switch: switch.from_s)
        self.decided: list[Decided] = []
        self.held_back: Counter[str] = Counter()

    def advance(self) -> int:
        changed = self.switch()
        self._simulation.run_until(self._simulation.now_s + INTERVAL_S)
        return changed

    def switch(self) -> int:
        """Make the switches whose time has come; returns the number of knob values that changed."""
        changed = 0
        while self._switches and self._switches[0].from_s <= self._simulation.now_s + 1e-9:
            due = self._switches.pop(0)
            for osc in _targets(self._simulation, due):
                before = self._simulation.setting(osc)
                after = self._simulation.set(osc, due.setting)
                changed += sum(before[knob] != after[knob] for knob in after)
        return changed


def _targets(simulation: Simulation, switch: Switch) -> list[int]:
    """OSCs are numbered client by client, OST by OST."""
    osts = simulation.plan.cluster.layout.ost_count
    return [
        osc
        for osc in range(simulation.oscs)
        if switch.client in (None, osc // osts) and switch.ost in (None, osc % osts)
    ]


class Loops:
    """A control loop on every tuned client. Each sees only its own client's counters."""

    def __init__(self, simulation: Simulation, course: Course) -> None:
        tuning = Tuning(course.policy or "default", course.guard, course.model, course.cache_ratio)
        self.decided: list[Decided] = []
        self.held_back: Counter[str] = Counter()
        self._simulation = simulation
        self._loops: dict[int, Loop] = {
            client: simulated_client(simulation, tuning, client) for client in _tuned(simulation, course)
        }
        # All loops observe at the same time, before any time passes.
        for loop in self._loops.values():
            loop.tick()

    def advance(self) -> int:
        """Simulate the whole cluster for one interval, then run every loop."""
        self._simulation.run_until(self._simulation.now_s + INTERVAL_S)
        steps = {client: loop.tick() for client, loop in self._loops.items()}
        done = [
            (client, step.decision)
            for client, each in steps.items()
            for step in each
            if step.decision is not None and step.receipt
        ]
        for each in steps.values():
            self.held_back.update(rules_of(step.decision for step in each if step.decision is not None))
        self.decided += [_decided(client, decision) for client, decision in done]
        return sum(len(decision.changes) for _, decision in done)


def _decided(client: int, decision: Decision) -> Decided:
    moved = decision.wanted.only(*(change.knob_id for change in decision.changes))
    return Decided(
        decision.t_s,
        client,
        int(decision.target.resource.removeprefix("OST"), 16),
        decision.before,
        moved,
        decision.reason,
        decision.sentence,
        dict(decision.evidence),
        decision.confidence,
    )


def _tuned(simulation: Simulation, course: Course) -> Sequence[int]:
    return range(simulation.plan.clients) if course.tuned is None else course.tuned


def make_driver(simulation: Simulation, course: Course) -> Driver:
    """The driver a course asks for, at the end of the warm-up."""
    tuned = _tuned(simulation, course)
    if course.policy is None or not tuned:
        return Hold(simulation, course.switches)
    if course.policy == "oracle":
        from penstock.evaluate.oracle import Oracle

        return Oracle(simulation, tuned)
    return Loops(simulation, course)
