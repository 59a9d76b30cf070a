"""Who turns the knobs of a simulated cluster while time passes: nobody, a policy on every client, an oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from penstock.agent.loop import Loop, Ports, Step, ticks
from penstock.evaluate.tuners import make_guard, make_tuner
from penstock.knobs import Setting
from penstock.simulate.probe import Probe
from penstock.simulate.simulation import Simulation
from penstock.units import GIB

INTERVAL_S = 0.5


@dataclass(frozen=True, slots=True)
class Course:
    """How a run is driven: a setting held throughout, or a policy that starts when the warm-up ends.

    Only the `tuned` clients run the policy, all where none are named. `guard` forces the agent's guard on or
    off; left open, a policy runs as it would where it comes from (see `make_guard`).
    """

    seconds: float
    warmup_s: float
    setting: Setting | None = None
    policy: str | None = None
    tuned: tuple[int, ...] | None = None
    guard: bool | None = None
    model: str | None = None


class Driver(Protocol):
    """Lets time pass, one interval at a time."""

    def advance(self) -> int:
        """One interval later: how many knob values have changed meanwhile."""
        ...


class Hold:
    """Nobody touches anything."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def advance(self) -> int:
        """Let time pass."""
        self._simulation.run_until(self._simulation.now_s + INTERVAL_S)
        return 0


class Loops:
    """A control loop on every tuned client, each seeing its own client's counters only."""

    def __init__(self, simulation: Simulation, course: Course) -> None:
        plan = simulation.plan
        ram_bytes = int(plan.cluster.client.ram_gb * GIB)
        model = Path(course.model) if course.model is not None else None
        self._loops = []
        for client in _tuned(simulation, course):
            probe = Probe(simulation, client)
            tuner = make_tuner(course.policy or "default", plan.seed, ram_bytes, model)
            guard = make_guard(course.policy or "default", plan.seed, course.guard)
            self._loops.append(ticks(Loop(Ports(probe, probe, probe), tuner, INTERVAL_S, guard)))

    def advance(self) -> int:
        """The first loop to wake lets the whole cluster work; the others find the time come."""
        return sum(_changes(next(loop)) for loop in self._loops)


def _changes(steps: Sequence[Step]) -> int:
    return sum(len(step.decision.changes) for step in steps if step.decision is not None and step.receipt)


def _tuned(simulation: Simulation, course: Course) -> Sequence[int]:
    return range(simulation.plan.clients) if course.tuned is None else course.tuned


def make_driver(simulation: Simulation, course: Course) -> Driver:
    """The driver a course asks for, at the end of the warm-up."""
    tuned = _tuned(simulation, course)
    if course.policy is None or not tuned:
        return Hold(simulation)
    if course.policy == "oracle":
        from penstock.evaluate.oracle import Oracle

        return Oracle(simulation, tuned)
    return Loops(simulation, course)
