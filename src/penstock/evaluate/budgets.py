"""Policies under pressure: tight budgets for dirty data, many targets, uneven demand.

A node with 16 targets may keep 1, 2, 4 or 8 % of its memory dirty. A policy starts from equal shares of the budget.
It is compared with three others: equal shares, the best split that a search finds on another seed, and the default of
2000 MB each, whatever the budget. If even the best split is below the default, no division of the budget can reach
the default. Algorithm 2 as printed may exceed the budget too. Stage 2 of CARAT alone, with the RPC knobs left as they
are, is `benchmarks/ablations/cache_printed.py` and `cache_fitted.py`.

The first third of every run is left out, because while a limit rises, an application gains once by writing into
memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from penstock.evaluate.drivers import Course
from penstock.evaluate.figures import geomean, mean
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import BEST_STATIC, Request
from penstock.evaluate.rows import BudgetRow
from penstock.evaluate.search import CHOICE_SEED
from penstock.evaluate.trial import WARMUP_S, Measured, Trial
from penstock.simulate.assembly import Job, Plan
from penstock.units import GIB, MIB
from penstock.workload import Workload, parse_workload

TARGETS = 16
SHARES = (0.01, 0.02, 0.04, 0.08)
#: A writer with a smaller share of the budget cannot keep its requests in flight.
LEAST_MIB = 32
MOST_MIB = 2047
# How strongly a split follows what each target wrote, and the number of rounds of small changes to the best one.
SHARPNESS = (0.0, 0.25, 0.5, 1.0, 2.0)
ROUNDS, TRIES = 2, 4
BINDING = 1.02
EXPERIMENT = "cache"


def _bursts(ost: int, active_s: float, idle_s: float, start_s: float = 0.0) -> Job:
    made = replace(parse_workload("s_wr_sq_1m"), active_s=active_s, idle_s=idle_s)
    return Job(_cached(made), start_s=start_s, osts=(ost,))


def _trickle(ost: int) -> Job:
    return Job(_cached(replace(parse_workload("s_wr_sq_1m"), think_s=0.05)), osts=(ost,))


def _cached(workload: Workload) -> Workload:
    return replace(workload, cache_bytes=90 * GIB)


#: Which workload writes to which of the 16 targets. The others are never used.
CASES: Mapping[str, tuple[Job, ...]] = {
    "one-heavy": (_bursts(0, 3, 5), *(_trickle(ost) for ost in range(1, 8))),
    "four-heavy": (*(_bursts(ost, 3, 5) for ost in (0, 2, 4, 6)), *(_trickle(ost) for ost in range(8, 16))),
    "graded": tuple(_bursts(ost, 1 + ost / 2, 6 - ost / 2) for ost in range(8)),
    "turns": tuple(_bursts(ost, 2, 10, start_s=6.0 * (ost % 2)) for ost in range(8)),
}
NAMES = tuple(f"budget-{case}-{round(share * 100)}%" for case in CASES for share in SHARES)


def rows(lab: Lab, request: Request, names: Sequence[str]) -> list[BudgetRow]:
    """One row for each case and budget asked for."""
    return [_row(lab, request, name) for name in names]


def summary(found: Sequence[BudgetRow]) -> dict[str, Any]:
    """The figures of the goal: against equal shares with tight budgets, against the default, and against the best
    split.
    """
    binding = [row for row in found if row["binds"]]
    answer: dict[str, Any] = {"rows": len(found), "binding_rows": len(binding)}
    for policy in binding[0]["policies"] if binding else ():
        gains = [row["policies"][policy] / row["equal_mbps"] for row in binding]
        best = [row["best_split_mbps"] / row["equal_mbps"] for row in binding]
        reachable = [row for row in found if row["best_split_mbps"] >= 0.95 * row["default_mbps"]]
        answer[policy] = {
            "geomean_vs_equal": geomean(gains),
            "worst_vs_equal": min(gains),
            "of_best_gain": (geomean(gains) - 1) / (geomean(best) - 1) if geomean(best) > 1 else None,
            "worst_vs_default": min(row["policies"][policy] / row["default_mbps"] for row in found),
            "worst_vs_default_where_reachable": min(
                (row["policies"][policy] / row["default_mbps"] for row in reachable), default=None
            ),
        }
    return answer


def _row(lab: Lab, request: Request, name: str) -> BudgetRow:
    case, _, percent = name.removeprefix("budget-").rpartition("-")
    share = float(percent.removesuffix("%")) / 100
    cluster = request.cluster.override({"layout.ost_count": str(TARGETS)})
    budget_mib = share * cluster.client.ram_gb * GIB / MIB
    plans = [Plan(cluster, CASES[case], 1, seed) for seed in request.all_seeds]
    length = Course(request.seconds, WARMUP_S)
    equal = equal_shares(budget_mib)
    elsewhere = replace(plans[0], seed=plans[0].seed + CHOICE_SEED)
    best = search(lab, elsewhere, length, budget_mib)
    policies = [policy for policy in request.policies if policy not in ("default", BEST_STATIC)]
    courses = {
        "default": length,
        "equal": replace(length, limits_mib=equal),
        "best-split": replace(length, limits_mib=best),
        **{
            policy: replace(request.trial(plans[0], policy).course, limits_mib=equal, cache_ratio=share)
            for policy in policies
        },
    }
    trials = [Trial(plan, course) for course in courses.values() for plan in plans]
    runs = iter(lab.measure("budgets", trials))
    rates = {label: mean([settled(next(runs), request.seconds) for _ in plans]) for label in courses}
    return {
        "workload": name,
        "budget_mib": budget_mib,
        "default_mbps": rates["default"].value,
        "equal_mbps": rates["equal"].value,
        "best_split_mbps": rates["best-split"].value,
        "best_split": list(best),
        "policies": {policy: rates[policy].value for policy in policies},
        "ci95": {label: one.ci95 for label, one in rates.items()},
        "policy_mbps": rates[request.policy if request.policy in policies else "default"].value,
        "binds": rates["default"].value > BINDING * rates["equal"].value,
        "command": request.command(EXPERIMENT, name),
    }


def equal_shares(budget_mib: float) -> tuple[int, ...]:
    """The split of an administrator who knows nothing about the work."""
    return (int(budget_mib / TARGETS),) * TARGETS


def search(lab: Lab, plan: Plan, length: Course, budget_mib: float) -> tuple[int, ...]:
    """The best split found: first by what targets wrote at the default, then by small changes."""
    (usual,) = lab.measure("budgets, search", [Trial(plan, length)])
    wrote = [_wrote(usual, ost) for ost in range(TARGETS)]
    tried = {equal_shares(budget_mib)} | {
        split([each**sharp if each else 0.0 for each in wrote], budget_mib) for sharp in SHARPNESS
    }
    rates: dict[tuple[int, ...], float] = {}
    rng = Random(f"split/{plan.seed}/{budget_mib:.0f}")
    for number in range(ROUNDS + 1):
        fresh = [each for each in sorted(tried) if each not in rates]
        found = lab.measure(
            "budgets, search", [Trial(plan, replace(length, limits_mib=each)) for each in fresh]
        )
        rates |= {each: settled(one, length.seconds) for each, one in zip(fresh, found, strict=True)}
        best = max(rates, key=lambda each: (rates[each], each))
        if number < ROUNDS:
            tried = {_changed(best, budget_mib, rng) for _ in range(TRIES)}
    return best


def split(weights: Sequence[float], budget_mib: float) -> tuple[int, ...]:
    """The budget in proportion to weights, within the smallest and largest limit.

    >>> split([3.0, 1.0, 0.0], 464)
    (308, 124, 32)
    """
    limits = [float(LEAST_MIB)] * len(weights)
    room = budget_mib - sum(limits)
    growing = [at for at, weight in enumerate(weights) if weight > 0]
    while room > 1e-6 and growing:
        total = sum(weights[at] for at in growing)
        step = min(room, *((MOST_MIB - limits[at]) * total / weights[at] for at in growing))
        for at in growing:
            limits[at] += step * weights[at] / total
        room -= step
        growing = [at for at in growing if limits[at] < MOST_MIB - 1e-6]
    return tuple(int(limit + 1e-6) for limit in limits)


def _changed(limits: Sequence[int], budget_mib: float, rng: Random) -> tuple[int, ...]:
    weights = [max(limit - LEAST_MIB, 0.0) * rng.choice((0.5, 1.0, 1.0, 2.0)) for limit in limits]
    return split(weights, budget_mib)


def settled(run: Measured, seconds: float) -> float:
    """The mean rate without the first third."""
    return run.mean(seconds / 3, seconds)


def _wrote(run: Measured, ost: int) -> float:
    share = run.targets.get((0, ost))
    return share.write_mbps if share is not None else 0.0
