"""The dirty cache: the effect of stage 2 on a node short of memory, Algorithm 2's overshoot, and in-place updates.

In-place updates are the case of Fig. 6(d): five files that fit into the cache are rewritten at random. A client that
sends less keeps pages dirty for longer and overwrites them in memory, so its application gets more done.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import replace
from random import Random

from penstock.decide.budget import CacheBudget
from penstock.decide.cache_shares import Demand, allocate, as_printed
from penstock.evaluate import budgets
from penstock.evaluate.figures import geomean, mean
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import BEST_STATIC, Request
from penstock.evaluate.rows import (
    BudgetRow,
    CacheDocument,
    InPlaceFigures,
    InPlaceRow,
    OvershootRow,
    Stage2Row,
)
from penstock.evaluate.static import best_static
from penstock.evaluate.trial import Measured, Trial
from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.snapshot import Target
from penstock.units import GIB, MIB
from penstock.workload import Workload, parse_workload

EXPERIMENT = "cache"
SMALL_RAM_GB = "16"
STAGES = ("dial", "carat")  # the same score without and with the cache tuner
UPDATES = "f_wr_rn_1m"
DIRTY_MIB = (32, 128, 512, 2047)
DRAWS = 500
IN_PLACE = "in-place-updates"
OVERSHOOT = "algorithm-2-overshoot"
NAMES = ("steady", "bursts", "uneven", IN_PLACE, OVERSHOOT, *budgets.NAMES)


def evaluate(lab: Lab, request: Request) -> CacheDocument:
    """All rows. The three with small memory compare stage 1 alone with both stages."""
    rows: list[Stage2Row | InPlaceRow | OvershootRow | BudgetRow] = []
    stage2 = [name for name in request.pick(NAMES) if name in ("steady", "bursts", "uneven")]
    if stage2:
        rows += _stage2(lab, request, stage2)
    if IN_PLACE in request.pick(NAMES):
        rows.append(_in_place(lab, request))
    if OVERSHOOT in request.pick(NAMES):
        rows.append(_overshoot(request))
    bound = budgets.rows(lab, request, [name for name in request.pick(NAMES) if name in budgets.NAMES])
    rows += bound
    gains = [row["stage2_gain"] for row in rows if "stage2_gain" in row]
    return {
        **request.about(EXPERIMENT),
        "rows": rows,
        "geomean_stage2_gain": geomean(gains) if gains else None,
        "budgets": budgets.summary(bound) if bound else None,
    }


def _jobs(name: str) -> tuple[Job, ...]:
    def on(work: str, osts: tuple[int, ...], **rhythm: float) -> Job:
        made: Workload = replace(parse_workload(work), cache_bytes=4 * GIB)
        return Job(
            replace(made, active_s=rhythm.get("active_s", 0.0), idle_s=rhythm.get("idle_s", 0.0)), osts=osts
        )

    if name == "steady":
        return (on("f_wr_rn_1m", (0, 1, 2, 3, 4)),)
    if name == "bursts":
        return (on("f_wr_sq_1m", (0, 1, 2, 3, 4), active_s=6.0, idle_s=4.0),)
    return (
        on("f_wr_rn_1m", (0, 1, 2, 3, 4), active_s=6.0, idle_s=4.0),
        on("s_wr_sq_16m", (6,), active_s=4.0, idle_s=3.0),
    )


def _stage2(lab: Lab, request: Request, names: list[str]) -> list[Stage2Row]:
    small = request.cluster.override({"ram_gb": SMALL_RAM_GB})
    trials: dict[tuple[str, str, int], Trial] = {}
    for name in names:
        for seed in request.all_seeds:
            plan = Plan(small, _jobs(name), 1, seed)
            for policy in dict.fromkeys(("default", *STAGES, *request.policies)):
                if policy != BEST_STATIC:
                    trials[name, policy, seed] = request.trial(plan, policy)
            for dirty in DIRTY_MIB:
                trials[name, f"dirty={dirty}", seed] = request.held(plan, Setting(dirty=dirty))
    found = lab.answer("cache", trials)
    return [_stage2_row(request, name, found) for name in names]


def _stage2_row(request: Request, name: str, found: Mapping[tuple[str, str, int], Measured]) -> Stage2Row:
    labels = dict.fromkeys(label for row, label, _ in found if row == name)
    rates = {
        label: mean([found[name, label, seed].app_mbps for seed in request.all_seeds]).value
        for label in labels
    }
    return {
        "workload": name,
        "default_mbps": rates["default"],
        "policy_mbps": rates.get(request.policy, rates["default"]),
        "policies": rates,
        "stage2_gain": rates["carat"] / rates["dial"],
        "command": request.command(EXPERIMENT, name, [request.policy]),
    }


def _in_place(lab: Lab, request: Request) -> InPlaceRow:
    best = best_static(lab, request, [UPDATES])[UPDATES]
    plan = Plan(request.cluster, (Job(parse_workload(UPDATES)),), 1, request.seed)
    labels = tuple(dict.fromkeys(("default", BEST_STATIC, *request.policies)))
    trials = [request.trial(plan, label, best.setting) for label in labels]
    found = dict(zip(labels, lab.measure("in-place updates", trials), strict=True))
    figures: dict[str, InPlaceFigures] = {
        label: {
            "app_mbps": run.app_mbps,
            "wire_mbps": run.rpc_mbps,
            "absorbed": max(0.0, 1.0 - run.rpc_mbps / run.app_mbps),
            "setting": dict(run.path[-1].setting),
        }
        for label, run in found.items()
    }
    return {
        "workload": IN_PLACE,
        "application": UPDATES,
        "default_mbps": found["default"].app_mbps,
        "best_static_mbps": found[BEST_STATIC].app_mbps,
        "best_static": dict(best.setting),
        "policy_mbps": found[request.policy].app_mbps,
        "policies": figures,
        "command": request.command(EXPERIMENT, IN_PLACE, [request.policy]),
    }


def _overshoot(request: Request) -> OvershootRow:
    """Algorithm 2 on random demands, as printed and within the node's budget."""
    rng = Random(f"overshoot/{request.seed}")
    printed, capped = [], []
    for _ in range(DRAWS):
        budget = CacheBudget(rng.choice((1024, 2048, 4096, 8192, 16384)))
        active = {Target(f"t{i}", "fs"): _demand(rng) for i in range(rng.randint(2, 32))}
        least = budget.values_mib[0] * len(active)
        if least <= budget.node_mib < budget.values_mib[-1] * len(active):
            printed.append(sum(as_printed(active, (), budget).values()) / budget.node_mib)
            capped.append(sum(allocate(active, (), budget).values()) / budget.node_mib)
    return {
        "workload": OVERSHOOT,
        "draws": len(printed),
        "over_budget": sum(ratio > 1 for ratio in printed) / len(printed),
        "mean_ratio": statistics.fmean(printed),
        "worst_ratio": max(printed),
        "worst_ratio_capped": max(capped),
        "command": request.command(EXPERIMENT, OVERSHOOT, [request.policy]),
    }


def _demand(rng: Random) -> Demand:
    """A random target: the dirty data, data in flight and bytes written each vary over orders of magnitude."""
    dirty, flight = (2 ** rng.uniform(0, 11) * MIB for _ in range(2))
    return Demand(2 ** rng.uniform(0, 14) * MIB, dirty, min(flight, dirty))
