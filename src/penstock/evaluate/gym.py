"""A simulated cluster with an interface like Gymnasium's: `reset`, `step(setting)`, and a reward for each step.

Gymnasium itself is not needed. `Cluster.actions` are the 99 settings of the traces, so that an agent may also step
with an index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError, UsageError
from penstock.evaluate.drivers import Course
from penstock.evaluate.simulated import grid
from penstock.evaluate.simulated import run as run_plan
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.evaluate.strict import PolicyError, blaming, definition
from penstock.knobs import Setting
from penstock.ratios import carat_metrics
from penstock.simulate import cluster as clusters
from penstock.simulate.assembly import Plan
from penstock.simulate.catalogue import named_plan
from penstock.simulate.probe import Probe
from penstock.simulate.simulation import Simulation
from penstock.snapshot import NodeSnapshot, Target
from penstock.spaces import LUSTRE
from penstock.window import Window, windows

Observation = dict[str, float]
Action = Setting | int | Mapping[Target, Setting] | None
Chooser = Callable[[Observation], Action]
MEASURES = ("page_utilisation", "channel_utilisation", "page_latency_us")


class Cluster:
    """One workload on a simulated cluster, advanced interval by interval.

    An observation describes the first client over the last interval: its knobs, the bytes its applications read and
    wrote, and for each direction how full RPCs and the channel were and the time per page, weighted by bytes over its
    targets. Idle values are 0. The reward is the throughput of all applications in 10^6 bytes per second. An episode
    is truncated after `seconds` and never terminates otherwise. Equal seeds and actions give equal episodes.
    """

    def __init__(
        self,
        workload: str = "s_rd_rn_1m",
        *,
        cluster: str | clusters.Cluster = "c220g5",
        clients: int = 1,
        seconds: float = 60.0,
        warmup_s: float = 5.0,
    ) -> None:
        if seconds < INTERVAL_S or warmup_s < 0:
            raise UsageError(
                f"seconds={seconds:g}, warmup_s={warmup_s:g}: an episode has at least one interval"
            )
        self.workload, self.clients, self.seconds, self.warmup_s = workload, clients, seconds, warmup_s
        self.cluster = _description(cluster) if isinstance(cluster, str) else cluster
        self.actions: tuple[Setting, ...] = grid()
        self.seed = 1
        self._simulation: Simulation | None = None
        self._probes: tuple[Probe, ...] = ()
        self._before: NodeSnapshot | None = None
        named_plan(self.cluster, workload, clients, self.seed)

    def plan(self) -> Plan:
        """The plan of the simulation."""
        return named_plan(self.cluster, self.workload, self.clients, self.seed)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a new episode at default knobs, after the warm-up. `options` may name another workload."""
        self.seed = self.seed if seed is None else seed
        self.workload = str((options or {}).get("workload", self.workload))
        self._simulation = Simulation(self.plan())
        self._probes = tuple(Probe(self._simulation, client) for client in range(self.clients))
        self._simulation.run_until(max(0.0, self.warmup_s - INTERVAL_S))
        self._before = self._probes[0].observe()
        self._simulation.run_until(max(self.warmup_s, INTERVAL_S))
        observation, seen = self._observe()
        return observation, {"t_s": self._simulation.now_s, "windows": seen}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Advance by one interval under a setting: one for all targets, an index, one per target, or None for no
        change.
        """
        simulation = self._simulation
        if simulation is None:
            raise UsageError("call reset() before step()")
        refused = self._apply(action)
        moved = simulation.totals().app_bytes
        simulation.run_until(simulation.now_s + INTERVAL_S)
        reward = (simulation.totals().app_bytes - moved) / INTERVAL_S / 1e6
        observation, seen = self._observe()
        truncated = simulation.now_s >= max(self.warmup_s, INTERVAL_S) + self.seconds - 1e-9
        return (
            observation,
            reward,
            False,
            truncated,
            {"t_s": simulation.now_s, "windows": seen, "refused": refused},
        )

    def play(self, policy: str | Path | Chooser, *, seed: int = 1) -> float:
        """The mean reward of an episode under a policy: a name or file as for the agent, or a function.

        If the policy raises or chooses an impossible setting, the error names file, line and window.
        """
        if not callable(policy):
            self.seed = seed
            course = Course(self.seconds, self.warmup_s, policy=str(policy))
            return run_plan(self.plan(), course).total.figures["app_mbps"]
        observation, _ = self.reset(seed=seed)
        rewards, truncated = [], False
        while not truncated:
            observation, reward, truncated = self._chosen(policy, observation)
            rewards.append(reward)
        return sum(rewards) / len(rewards)

    def _chosen(self, policy: Chooser, observation: Observation) -> tuple[Observation, float, bool]:
        """One interval under what a user's function chooses."""
        assert self._simulation is not None
        now_s = self._simulation.now_s
        when = f"window {now_s - INTERVAL_S:.1f} to {now_s:.1f} s"
        with blaming(policy, when):
            action = policy(observation)
        try:
            observation, reward, _, truncated, info = self.step(action)
        except PenstockError as error:
            raise PolicyError(f"{definition(policy)}: {error} ({when})") from None
        if info["refused"]:
            raise PolicyError(f"{definition(policy)}: {info['refused'][0]} ({when})")
        return observation, reward, truncated

    def close(self) -> None:
        self._simulation, self._probes, self._before = None, (), None

    def _apply(self, action: Action) -> list[str]:
        """Set knobs as a kernel takes them; says what it refused."""
        if action is None:
            return []
        refused = []
        setting = self._setting(action)
        for probe in self._probes:
            for snapshot in probe.observe().targets:
                chosen = setting if isinstance(setting, Setting) else setting.get(snapshot.target)
                receipt = probe.set(snapshot.target, chosen) if chosen is not None else None
                if receipt is not None and receipt.error is not None:
                    refused.append(receipt.error)
        return refused

    def _setting(self, action: object) -> Setting | Mapping[Target, Setting]:
        if isinstance(action, Integral):
            if not 0 <= int(action) < len(self.actions):
                raise UsageError(f"action {action}: not an index of one of the {len(self.actions)} settings")
            return self.actions[int(action)]
        given = (
            action.values() if isinstance(action, Mapping) and not isinstance(action, Setting) else (action,)
        )
        if not all(isinstance(each, Setting) for each in given):
            raise UsageError(f"action {action!r:.80}: not a Setting, an index, a Setting per target, or None")
        return action  # type: ignore[return-value]

    def _observe(self) -> tuple[Observation, tuple[Window, ...]]:
        after = self._probes[0].observe()
        assert self._before is not None
        seen = tuple(one for one in windows(self._before, after) if isinstance(one, Window))
        self._before = after
        busiest = max(seen, key=lambda one: one.moved_per_s, default=None)
        setting = after.targets[0].setting if busiest is None else busiest.setting
        observation: Observation = {knob: float(value) for knob, value in setting.items()}
        ratios = [carat_metrics(one, LUSTRE) for one in seen]
        for direction in ("read", "write"):
            observation[f"{direction}.mbps"] = sum(one.rate(f"app.{direction}_bytes") for one in seen) / 1e6
            weights = [one.metrics.get(f"{direction}.bytes", 0.0) for one in seen]
            for measure in MEASURES:
                values = [one[f"{direction}.{measure}"] or 0.0 for one in ratios]
                total = sum(value * weight for value, weight in zip(values, weights, strict=True))
                observation[f"{direction}.{measure}"] = total / sum(weights) if sum(weights) else 0.0
        return observation, seen


def _description(name: str) -> clusters.Cluster:
    return clusters.find_cluster(name)
