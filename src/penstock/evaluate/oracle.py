"""A clairvoyant tuner: before every interval it tries the settings in copies of the simulation and takes the best.

It sees what no client can see: the servers, the other clients, and the next requests. It is greedy: for each client
in turn, with the same setting for all its targets, it maximises what all applications will have moved after a few
seconds. So it bounds what can be achieved interval by interval. A plan for a whole run might still be better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from penstock.evaluate.drivers import Decided
from penstock.evaluate.simulated import grid
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.knobs import Setting
from penstock.simulate.simulation import Simulation

HORIZON_S = 3.0
FINALISTS = 6


class Oracle:
    """Chooses for the given clients. It tries all 99 settings for one interval, and the best few for the horizon."""

    def __init__(self, simulation: Simulation, clients: Sequence[int]) -> None:
        self._simulation = simulation
        self._clients = clients
        self._copy = Simulation(simulation.plan)
        self.decided: list[Decided] = []
        self.held_back: Counter[str] = Counter()

    def advance(self) -> int:
        """Choose, then let one interval pass."""
        changes = sum(self._choose(client) for client in self._clients)
        self._simulation.run_until(self._simulation.now_s + INTERVAL_S)
        return changes

    def _choose(self, client: int) -> int:
        oscs = self._simulation.oscs_of(client)
        now = [self._simulation.setting(osc) for osc in oscs]
        here = now[0].only("pages", "flight")
        brief = sorted(grid(), key=lambda setting: self._promise(client, setting, INTERVAL_S), reverse=True)
        racing = dict.fromkeys((here, *brief[:FINALISTS]))
        # On a tie the setting in force wins, so that a change must gain something.
        best = max(racing, key=lambda setting: self._promise(client, setting, HORIZON_S))
        for osc in oscs:
            self._simulation.set(osc, best)
        return sum(
            self._simulation.setting(osc)[knob] != was[knob]
            for osc, was in zip(oscs, now, strict=True)
            for knob in was
        )

    def _promise(self, client: int, setting: Setting, seconds: float) -> float:
        """What all applications will have moved by then if this client holds the setting."""
        self._copy.become(self._simulation)
        for osc in self._copy.oscs_of(client):
            self._copy.set(osc, setting)
        self._copy.run_until(self._simulation.now_s + seconds)
        moved = self._copy.world.client
        return float(moved.read_bytes.sum() + moved.write_bytes.sum())
