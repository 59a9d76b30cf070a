"""One simulated client with everything that tunes it: ports, tuner, guard and control loop.

Every experiment, the demo and the web page's simulator wire their clients here, whatever kind of work is simulated,
so that they agree on what a policy runs with. `Tuning.guard` says whether the guard is on; None is the policy's own
choice (see `make_guard`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from penstock.agent.loop import Loop
from penstock.decide.guard import NodeView
from penstock.evaluate.tuners import CACHE_RATIO, make_guard, make_tuner
from penstock.ports import Actuator, Clock, Observer, Ports
from penstock.simulate.probe import Probe
from penstock.simulate.simulation import Simulation
from penstock.units import GIB

INTERVAL_S = 0.5


@dataclass(frozen=True, slots=True)
class Tuning:
    """How a client is tuned. `cache_ratio` is the share of its memory that dirty limits may sum to."""

    policy: str
    guard: bool | None = None
    model: str | None = None
    cache_ratio: float = CACHE_RATIO
    interval_s: float = INTERVAL_S


class SimulatedProbe(Clock, Observer, Actuator, Protocol):
    """All three ports of a simulated client."""


def simulated_client(
    simulation: Simulation, tuning: Tuning, client: int = 0, node: Callable[[], NodeView] = NodeView
) -> Loop:
    """The control loop of a client. Its randomness comes from the plan's seed."""
    plan = simulation.plan
    # Tuners grant a fixed share of memory, so a smaller share is modelled as a node with less memory.
    ram_bytes = int(plan.cluster.client.ram_gb * GIB * tuning.cache_ratio / CACHE_RATIO)
    return client_loop(Probe(simulation, client), tuning, (plan.seed, ram_bytes), node)


def client_loop(
    probe: SimulatedProbe, tuning: Tuning, own: tuple[int, int], node: Callable[[], NodeView] = NodeView
) -> Loop:
    """The control loop beside whatever is simulated. `own` are the client's seed and its bytes of memory."""
    seed, ram_bytes = own
    model = Path(tuning.model) if tuning.model is not None else None
    tuner = make_tuner(tuning.policy, seed, ram_bytes, model)
    guard = make_guard(tuning.policy, seed, tuning.guard)
    return Loop(Ports(probe, probe, probe), tuner, tuning.interval_s, guard, node)
