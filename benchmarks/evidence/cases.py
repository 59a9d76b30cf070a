"""Cases: what each experiment simulates, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from benchmarks.evidence.asks import Ask, policy_of

from penstock.errors import UsageError
from penstock.evaluate import applications, budgets, dynamic, independent, interference, static
from penstock.evaluate.drivers import Course
from penstock.evaluate.request import Request
from penstock.evaluate.search import ROUNDS, Round
from penstock.evaluate.trial import WARMUP_S
from penstock.simulate.assembly import Plan
from penstock.simulate.cluster import find_cluster
from penstock.units import GIB, MIB


@dataclass(frozen=True, slots=True)
class EvidenceCase:
    """A world by seed, the measured time, and the number of phases in that time."""

    plan: Callable[[int], Plan]
    seconds: float
    phases: int = 1
    rounds: tuple[Round, ...] = ROUNDS
    fixed_work: Course | None = None

    def course(self) -> Course:
        """The default, held throughout, or until fixed work is done."""
        return self.fixed_work or Course(self.seconds, WARMUP_S)


def case_of(ask: Ask) -> EvidenceCase:
    """The case a row is about."""
    if ask.experiment not in _CASES:
        raise UsageError(f"no experiment {ask.experiment!r}")
    return _CASES[ask.experiment](
        Request(("default",), ask.seconds, ask.seed, cluster=find_cluster(ask.cluster)), ask.case
    )


def _static(request: Request, case: str) -> EvidenceCase:
    return EvidenceCase(lambda seed: static.plan_of(request, case, seed), request.seconds)


def _independent(request: Request, case: str) -> EvidenceCase:
    return EvidenceCase(lambda seed: independent.plan_of(request, case, seed), request.seconds)


def _applications(request: Request, case: str) -> EvidenceCase:
    return EvidenceCase(
        lambda seed: applications.plan_of(request, case, seed),
        request.seconds,
        rounds=applications.ROUNDS,
        fixed_work=applications.course_of(request),
    )


def _interference(request: Request, case: str) -> EvidenceCase:
    scene = interference.scene_of(request, case)
    return EvidenceCase(
        lambda seed: interference.plan_of(request, scene, seed), scene.seconds, rounds=applications.ROUNDS
    )


def _dynamic(request: Request, case: str) -> EvidenceCase:
    phases = dynamic.phases_of(request, case)
    return EvidenceCase(phases.plan, phases.seconds, len(phases.names), ROUNDS[:3])


def _budgets(request: Request, case: str) -> EvidenceCase:
    cluster = request.cluster.override({"layout.ost_count": str(budgets.TARGETS)})
    jobs = budgets.CASES[split_budget(case)[0]]
    return EvidenceCase(lambda seed: Plan(cluster, jobs, 1, seed), request.seconds)


_CASES: Mapping[str, Callable[[Request, str], EvidenceCase]] = {
    "static": _static,
    "applications": _applications,
    "independent": _independent,
    "interference": _interference,
    "dynamic": _dynamic,
    "budgets": _budgets,
}


def split_budget(case: str) -> tuple[str, float]:
    """The case and the share of memory in a name such as `one-heavy-2%`."""
    name, _, percent = case.rpartition("-")
    return name, float(percent.removesuffix("%")) / 100


def budget_mib(ask: Ask) -> float:
    """The dirty data that all targets of such a case may hold together."""
    return split_budget(ask.case)[1] * find_cluster(ask.cluster).client.ram_gb * GIB / MIB


def policy_course(ask: Ask, model: str | None) -> Course:
    """The course of a row under a policy. Cases with a budget start from equal shares."""
    course = replace(case_of(ask).course(), policy=policy_of(ask.label), guard=ask.guard == "on", model=model)
    if ask.experiment == "budgets":
        share = split_budget(ask.case)[1]
        course = replace(course, cache_ratio=share, limits_mib=budgets.equal_shares(budget_mib(ask)))
    return course
