"""Compares policies on one scenario. They run one after the other in the background, each with the same seed."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.decide.policies import POLICY_NAMES, unknown_policy
from penstock.errors import PenstockError, UsageError
from penstock.evaluate.drivers import Course
from penstock.evaluate.simulated import Run, run
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.simulate.assembly import Plan
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import CLUSTER_NAMES, builtin_cluster
from penstock.simulate.scenario import parse_scenario, scenario_cluster, scenario_plan

WARMUP_S = 5.0
LONGEST_S = 600.0
SOURCE = "scenario"


class CancelledError(Exception):
    """The comparison was cancelled."""


class Comparison:
    """Runs one comparison at a time in its own thread.

    `document` reports its progress and may be called from any thread.
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._document: dict[str, Any] = {"running": False, "rows": [], "error": None, "share": 0.0}

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def document(self) -> dict[str, Any]:
        """The rows known so far. The default is the first row."""
        return {**self._document, "running": self.running}

    def start(self, given: Mapping[str, Any]) -> str:
        """Start a comparison. A wrong request raises an error here."""
        if self.running:
            raise PenstockError("a comparison runs already: cancel it first")
        policies = _policies(given.get("policies"))
        seconds = _number(given.get("seconds", 60.0), 5.0, LONGEST_S, "seconds")
        plan = _plan(given, int(_number(given.get("seed", 0), 0, 2**31, "seed")))
        self._document = {"rows": [], "error": None, "share": 0.0, "seconds": seconds, "title": _title(given)}
        self._stop.clear()
        self._thread = threading.Thread(
            target=self._run, args=(plan, policies, seconds), name="penstock-compare", daemon=True
        )
        self._thread.start()
        return f"{len(policies)} policies, {seconds:g} s each"

    def cancel(self) -> str:
        """Stop the running comparison. Finished rows are kept."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(30.0)
        return "cancelled"

    def _run(self, plan: Plan, policies: Sequence[str], seconds: float) -> None:
        try:
            for number, policy in enumerate(policies):
                self._one(plan, policy, seconds, (number, len(policies)))
        except CancelledError:
            self._document = {**self._document, "error": "cancelled"}
        except PenstockError as error:
            self._document = {**self._document, "error": str(error)}

    def _one(self, plan: Plan, policy: str, seconds: float, place: tuple[int, int]) -> None:
        number, count = place

        def progress(share: float) -> None:
            if self._stop.is_set():
                raise CancelledError
            self._document = {**self._document, "share": (number + share) / count}

        course = Course(seconds, WARMUP_S, policy=None if policy == "default" else policy)
        rows = [*self._document["rows"], _row(policy, run(plan, course, progress))]
        first = rows[0]["mbps"]
        self._document = {
            **self._document,
            "rows": [{**row, "gain": row["mbps"] / first if first > 0 else None} for row in rows],
            "share": (number + 1) / count,
        }


def _row(policy: str, done: Run) -> dict[str, Any]:
    trail = done.trail
    both = zip(trail.read_bytes, trail.write_bytes, strict=True)
    return {
        "policy": policy,
        "mbps": done.total.figures["app_mbps"],
        "changes": done.changes,
        "jobs": [job.app_mbps for job in done.jobs],
        "series": [round((sum(read) + sum(write)) / INTERVAL_S / 1e6, 1) for read, write in both],
    }


def _policies(given: Any) -> list[str]:
    names = [str(name) for name in given] if isinstance(given, list) else []
    for name in names:
        if name not in POLICY_NAMES:
            raise unknown_policy(name, POLICY_NAMES)
    if not names:
        raise UsageError("choose at least one policy")
    return list(dict.fromkeys(["default", *names]))


def _number(given: Any, least: float, most: float, name: str) -> float:
    try:
        value = float(given)
    except (TypeError, ValueError):
        raise UsageError(f"{name}: {given!r} is not a number") from None
    if not least <= value <= most:
        raise UsageError(f"{name}: {value:g} is not between {least:g} and {most:g}")
    return value


def _title(given: Mapping[str, Any]) -> str:
    return "the scenario" if given.get("scenario") else f"{given.get('workload')} on {given.get('cluster')}"


def _plan(given: Mapping[str, Any], seed: int) -> Plan:
    """The plan of a scenario text, or of one workload on one cluster.

    A text may name built-in clusters only, so that no file is read.
    """
    text = given.get("scenario")
    if not text:
        return named_plan(builtin_cluster(str(given.get("cluster"))), str(given.get("workload")), seed=seed)
    scenario = parse_scenario(str(text), SOURCE)
    if scenario.cluster not in CLUSTER_NAMES:
        known = ", ".join(CLUSTER_NAMES)
        raise UsageError(f"{SOURCE}: cluster {scenario.cluster!r} is none of {known}")
    cluster = scenario_cluster(scenario, builtin_cluster(scenario.cluster), SOURCE)
    return scenario_plan(scenario, cluster, seed, SOURCE)
