"""The simulator as a source: a tuned client and its untuned twin, controlled from the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.dash.comparing import Comparison
from penstock.dash.source import About, Look, Point
from penstock.dash.twins import DISTURBANCES, OTHER_WORKLOADS, Choice, Twins
from penstock.decide.policies import POLICY_NAMES, unknown_policy
from penstock.errors import PenstockError, UsageError
from penstock.events import DisturbedEvent, LogEvent
from penstock.simulate.cluster import CLUSTER_NAMES, builtin_cluster
from penstock.workload import NAMES, parse_workload

# Intervals of half a virtual second per poll. While it runs, it is polled twice a second.
SPEEDS = {"1x": 1, "5x": 5, "20x": 20}
PERIOD_S, RESTING_S = 0.5, 1.0
# A run that nobody stops ends here.
LONGEST_S = 3600.0
FIRST = {"cluster": CLUSTER_NAMES[0], "workload": "s_rd_rn_1m", "policy": "weir", "seed": 0}


class SimulatorSource:
    """Simulates only while it is polled. All changes come through `command`."""

    def __init__(self) -> None:
        self._twins: Twins | None = None
        self._chosen = dict(FIRST)
        self._running = True
        self._speed = "5x"
        self._anew = False
        self._trouble: str | None = None
        self._events: list[LogEvent] = []
        self._moved: set[str] = set()
        self._comparison = Comparison()
        self._verbs: dict[str, Callable[[Mapping[str, Any]], str]] = {
            "start": self._start,
            "disturb": lambda given: self._now().disturb(str(given.get("what")), bool(given.get("on"))),
            "work": lambda given: self._now().work(str(given.get("workload"))),
            "speed": self._set_speed,
            "pause": lambda _: self._run(False),
            "resume": lambda _: self._run(True),
            "compare": self._comparison.start,
            "cancel": lambda _: self._comparison.cancel(),
        }

    @property
    def about(self) -> About:
        """Virtual time advances in steps of the chosen speed."""
        period_s = PERIOD_S if self._running or self._comparison.running else RESTING_S
        return About("simulator", "the simulator", True, True, period_s, tuple(self._verbs))

    def look(self) -> Look:
        """Advance the simulation, unless it is paused."""
        twins = self._now()
        points: list[Point] = []
        try:
            for _ in range(SPEEDS[self._speed] if self._running else 0):
                brought, events = twins.advance()
                points += self._worth_showing(brought)
                self._events += events
        except PenstockError as error:
            # After an error the simulation stays as it is, so that its state can be seen.
            self._running, self._trouble = False, str(error)
        if twins.now_s >= LONGEST_S:
            self._running = False
        events, self._events = self._events, []
        anew, self._anew = self._anew, False
        return Look(
            twins.now_s,
            points,
            events,
            twins.status(),
            self._effect(twins),
            trouble=self._trouble,
            anew=anew,
            extra=self._extra(twins),
        )

    def explain(self, decision_id: str) -> Mapping[str, Any] | None:
        return None

    def command(self, verb: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Carry out a command. A disturbance or another workload is also reported as an event."""
        said = self._verbs[verb](arguments)
        if verb in ("disturb", "work"):
            self._events.append(DisturbedEvent(time_s=self._now().now_s, sentence=said))
        return {"said": said}

    def close(self) -> None:
        """Cancel a comparison that still runs."""
        self._comparison.cancel()

    def _now(self) -> Twins:
        if self._twins is None:
            self._start({})
        assert self._twins is not None
        return self._twins

    def _start(self, given: Mapping[str, Any]) -> str:
        chosen = {**self._chosen, **{key: given[key] for key in FIRST if key in given}}
        policy = str(chosen["policy"])
        if policy not in POLICY_NAMES:
            raise unknown_policy(policy, POLICY_NAMES)
        work = parse_workload(str(chosen["workload"])).name
        try:
            seed = int(chosen["seed"])
        except (TypeError, ValueError):
            raise UsageError(f"seed {chosen['seed']!r} is not a number") from None
        self._twins = Twins(Choice(builtin_cluster(str(chosen["cluster"])), work, policy, seed))
        self._chosen, self._running, self._anew = {**chosen, "seed": seed}, True, True
        self._events, self._moved, self._trouble = [], set(), None
        return f"{work} on {chosen['cluster']}, tuned by {policy}"

    def _set_speed(self, given: Mapping[str, Any]) -> str:
        speed = str(given.get("speed"))
        if speed not in SPEEDS:
            raise UsageError(f"speed {speed!r} is not one of {', '.join(SPEEDS)}")
        self._speed = speed
        return speed

    def _run(self, running: bool) -> str:
        if running and self._now().now_s >= LONGEST_S:
            raise PenstockError(f"{LONGEST_S:g} s have passed: start anew")
        self._running = running
        return "running" if running else "paused"

    def _worth_showing(self, brought: list[Point]) -> list[Point]:
        """The targets that moved data in either simulation."""
        for point in brought:
            if point.first_per_s + point.second_per_s + (point.twin_per_s or 0.0) > 0.0:
                self._moved.add(point.target)
        return [point for point in brought if point.target in self._moved]

    def _effect(self, twins: Twins) -> dict[str, Any] | None:
        plain, tuned = twins.totals_mbps()
        if plain <= 0.0:
            return None
        rates = {"default_mbps": plain, "tuned_mbps": tuned}
        return {"kind": "simulated", "gain": tuned / plain, "seconds": twins.now_s, **rates}

    def _extra(self, twins: Twins) -> dict[str, Any]:
        return {
            "choices": {
                "cluster": list(CLUSTER_NAMES),
                "workload": list(NAMES),
                "policy": list(POLICY_NAMES),
                "other": list(dict.fromkeys((str(self._chosen["workload"]), *OTHER_WORKLOADS))),
                "speed": list(SPEEDS),
                "disturbance": DISTURBANCES,
            },
            "chosen": dict(self._chosen),
            "running": self._running,
            "speed": self._speed,
            "on": sorted(twins.on),
            "workload": twins.workload,
            "bands": twins.bands,
            "spans": twins.spans,
            "comparison": self._comparison.document(),
        }
