"""One simulated client with everything that tunes it: ports, tuner, guard and control loop.

Every experiment, the demo and the web page's simulator wire their clients here, so that they agree on what a policy
runs with. `Tuning.guard` says whether the guard is on; None is the policy's own choice (see `make_guard`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.agent.loop import Loop
from penstock.decide.guard import NodeView
from penstock.evaluate.tuners import CACHE_RATIO, make_guard, make_tuner
from penstock.ports import Ports
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


def simulated_client(
    simulation: Simulation, tuning: Tuning, client: int = 0, node: Callable[[], NodeView] = NodeView
) -> Loop:
    """The control loop of a client. Its randomness comes from the plan's seed."""
    plan = simulation.plan
    # Tuners grant a fixed share of memory, so a smaller share is modelled as a node with less memory.
    ram_bytes = int(plan.cluster.client.ram_gb * GIB * tuning.cache_ratio / CACHE_RATIO)
    model = Path(tuning.model) if tuning.model is not None else None
    tuner = make_tuner(tuning.policy, plan.seed, ram_bytes, model)
    guard = make_guard(tuning.policy, plan.seed, tuning.guard)
    probe = Probe(simulation, client)
    return Loop(Ports(probe, probe, probe), tuner, tuning.interval_s, guard, node)
