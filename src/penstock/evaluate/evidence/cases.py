"""Cases: what each experiment simulates, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.errors import UsageError
from penstock.evaluate import applications, budgets, dynamic, independent, interference, static
from penstock.evaluate.drivers import Course
from penstock.evaluate.evidence.asks import Ask
from penstock.evaluate.request import Request
from penstock.evaluate.search import ROUNDS, Round
from penstock.evaluate.trial import WARMUP_S
from penstock.simulate.assembly import Plan
from penstock.simulate.cluster import Cluster, find_cluster
from penstock.units import GIB, MIB


@dataclass(frozen=True, slots=True)
class EvidenceCase:
    """A world by seed, the measured time, and the number of phases in that time."""

    plan: Callable[[int], Plan]
    seconds: float
    phases: int = 1
    rounds: tuple[Round, ...] = ROUNDS

    def course(self) -> Course:
        """The default, held throughout."""
        return Course(self.seconds, WARMUP_S)


def case_of(ask: Ask) -> EvidenceCase:
    """The case a row is about."""
    request = Request(find_cluster(ask.cluster), ("default",), ask.seconds, ask.seed)
    if ask.experiment == "static":
        return EvidenceCase(lambda seed: static.plan_of(request, ask.case, seed), ask.seconds)
    if ask.experiment == "applications":
        rounds = applications.ROUNDS
        return EvidenceCase(
            lambda seed: applications.plan_of(request, ask.case, seed), ask.seconds, rounds=rounds
        )
    if ask.experiment == "independent":
        return EvidenceCase(lambda seed: independent.plan_of(request, ask.case, seed), ask.seconds)
    if ask.experiment == "interference":
        scene = interference.scene_of(request, ask.case)
        rounds = applications.ROUNDS
        return EvidenceCase(
            lambda seed: interference.plan_of(request, scene, seed), scene.seconds, rounds=rounds
        )
    if ask.experiment == "dynamic":
        phases = dynamic.phases_of(request, ask.case)
        return EvidenceCase(phases.plan, phases.seconds, len(phases.names), ROUNDS[:3])
    if ask.experiment == "budgets":
        cluster = _many_targets(request.cluster)
        return EvidenceCase(
            lambda seed: Plan(cluster, budgets.CASES[split_budget(ask.case)[0]], 1, seed), ask.seconds
        )
    raise UsageError(f"no experiment {ask.experiment!r}")


def split_budget(case: str) -> tuple[str, float]:
    """The case and the share of memory in a name such as `one-heavy-2%`."""
    name, _, percent = case.rpartition("-")
    return name, float(percent.removesuffix("%")) / 100


def budget_mib(ask: Ask) -> float:
    """The dirty data that all targets of such a case may hold together."""
    return split_budget(ask.case)[1] * find_cluster(ask.cluster).client.ram_gb * GIB / MIB


def policy_course(ask: Ask, model: str | None) -> Course:
    """The course of a row under a policy. Cases with a budget start from equal shares."""
    course = replace(case_of(ask).course(), policy=ask.label, guard=ask.guard == "on", model=model)
    if ask.experiment == "budgets":
        share = split_budget(ask.case)[1]
        course = replace(course, cache_ratio=share, limits_mib=budgets.equal_shares(budget_mib(ask)))
    return course


def _many_targets(cluster: Cluster) -> Cluster:
    return cluster.override({"layout.ost_count": str(budgets.TARGETS)})
