"""Applications (CARAT's Fig. 8 and Table VII, DIAL's Table II): DLIO's and H5bench's kernels."""

from __future__ import annotations

from typing import Any

from penstock.evaluate.figures import geomean, headroom_captured, mean
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import BEST_STATIC, Request
from penstock.evaluate.search import Round, choose
from penstock.evaluate.trial import WARMUP_S
from penstock.simulate.assembly import Plan
from penstock.simulate.catalogue import named_plan

EXPERIMENT = "applications"
LEARNING = tuple(
    f"dlio-{model}:threads={threads},osts={osts}"
    for model in ("bert", "megatron")
    for osts in (2, 8)
    for threads in (2, 8)
)
SCIENCE = ("vpic-1d", "vpic-2d", "vpic-3d", "bdcats-partial", "bdcats-strided", "bdcats-full")
NAMES = (*LEARNING, *SCIENCE)
ROUNDS = (Round(99, 2.0, 3.0), Round(12, 4.0, 10.0), Round(3, WARMUP_S, 30.0))


def evaluate(lab: Lab, request: Request) -> dict[str, Any]:
    """Every application under default, policies and its best static setting."""
    names = request.pick(NAMES)
    best = choose(
        lab, {name: [_plan(request, name, request.seed)] for name in names}, request.seconds, ROUNDS
    )
    policies = tuple(dict.fromkeys(("default", BEST_STATIC, *request.policies)))
    trials = {
        (name, policy, seed): request.trial(_plan(request, name, seed), policy, best[name].setting)
        for name in names
        for policy in policies
        for seed in request.all_seeds
    }
    found = dict(zip(trials, lab.measure("applications", list(trials.values())), strict=True))
    rows = []
    for name in names:
        rates = {
            p: mean([found[name, p, seed].app_mbps for seed in request.all_seeds]).value for p in policies
        }
        rows.append(
            {
                "workload": name,
                "default_mbps": rates["default"],
                "best_static_mbps": rates[BEST_STATIC],
                "best_static": dict(best[name].setting),
                "policy_mbps": rates[request.policy],
                "policies": rates,
                "command": request.command(EXPERIMENT, name, [request.policy]),
            }
        )
    return {**request.about(EXPERIMENT), "rows": rows, **_summary(request, rows)}


def _plan(request: Request, name: str, seed: int) -> Plan:
    return named_plan(request.cluster, name, 1, seed)


def _summary(request: Request, rows: list[dict[str, Any]]) -> dict[str, Any]:
    summed = {}
    for policy in request.policies:
        ratios = [row["policies"][policy] / row["default_mbps"] for row in rows]
        summed[policy] = {
            "geomean_vs_default": geomean(ratios),
            "geomean_vs_best_static": geomean(
                row["policies"][policy] / row["best_static_mbps"] for row in rows
            ),
            "worst_vs_default": min(ratios),
            "headroom_captured": headroom_captured(
                (row["default_mbps"], row["best_static_mbps"], row["policies"][policy]) for row in rows
            ),
        }
    return {**summed[request.policy], "policies": summed}
