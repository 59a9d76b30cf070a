"""Static workloads (CARAT's Fig. 6): 24, of which 12 were used in training; default, policies, best static
setting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.decide.policies import POLICY_NAMES
from penstock.evaluate.contest import Contest, competitors, contest
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import BEST_STATIC, OWN, SHIPPED, Request
from penstock.evaluate.rows import RunTrail, StaticDocument, StaticPolicy, StaticRow
from penstock.evaluate.search import StaticChoice, choose
from penstock.evaluate.seen import seen
from penstock.evaluate.trial import Measured
from penstock.report.heatmap import trace_name
from penstock.simulate.assembly import Plan
from penstock.simulate.catalogue import named_plan
from penstock.spaces import LUSTRE
from penstock.workload import NAMES

EXPERIMENT = "static"


def seen_in_training() -> frozenset[str]:
    """The workloads the shipped model was trained on, by name; every other was never seen."""
    from penstock.predict.shipped import default_model

    runs: Any = default_model().provenance["runs"]
    trained = {str(run).partition("/")[0] for run in runs}
    return frozenset(name for name in NAMES if name in trained or trace_name(name) in trained)


def best_static(lab: Lab, request: Request, names: Sequence[str]) -> dict[str, StaticChoice]:
    """Each workload's best static setting, chosen on a seed of its own."""
    return choose(lab, {name: [plan_of(request, name, request.seed)] for name in names}, request.seconds)


def evaluate(lab: Lab, request: Request) -> StaticDocument:
    """Every workload under every policy, settings held or turned for the whole time."""
    names = request.pick(NAMES)
    best = best_static(lab, request, names)
    held = contest(lab, request, "static workloads", plan_of, best)
    trained = seen_in_training()
    rows = [_row(request, name, best[name], held, name in trained) for name in names]
    counted = [row["workload"] for row in rows if not row["rewriting"]]
    return {
        **request.about(EXPERIMENT),
        "rows": rows,
        **held.summary(names, request.policy),
        "headline": _headline(held, request, counted),
        "policies": {policy: _compared(held, names, policy) for policy in request.policies},
        "surfaces": {name: [round(rate, 2) for rate in best[name].surface] for name in names},
        "trails": {name: _trail(held.found, name, request) for name in names},
    }


def _compared(held: Contest, names: Sequence[str], policy: str) -> StaticPolicy:
    return {**held.summary(names, policy), "mbps": {name: held.rates[name, policy].value for name in names}}


def plan_of(request: Request, name: str, seed: int) -> Plan:
    return named_plan(request.cluster, name, seed=seed)


def _headline(held: Contest, request: Request, counted: Sequence[str]) -> dict[str, Any] | None:
    """Every policy over the workloads in which the cache does not do the work."""
    if not counted:
        return None
    return {
        "workloads": len(counted),
        **{policy: held.summary(counted, policy) for policy in request.policies if policy != BEST_STATIC},
    }


def _row(request: Request, name: str, best: StaticChoice, held: Contest, trained: bool) -> StaticRow:
    labels = ("default", BEST_STATIC, request.policy)
    default, static, mine = (held.rates[name, label] for label in labels)
    wires = [held.wire[name, label].value for label in labels]
    row: StaticRow = {
        "workload": name,
        "seen": trained,
        "seen_by": _seen_by(request, name),
        "default_mbps": default.value,
        "best_static_mbps": static.value,
        "policy_mbps": mine.value,
        "default_wire_mbps": wires[0],
        "best_static_wire_mbps": wires[1],
        "policy_wire_mbps": wires[2],
        "rewriting": held.rewrites(name, competitors(request)),
        "best_static": {**best.setting, "dirty": LUSTRE.settle(LUSTRE.default, best.setting)["dirty"]},
        "command": request.command(EXPERIMENT, name, [request.policy]),
    }
    if request.seeds > 1:
        row["default_ci95"], row["best_static_ci95"], row["policy_ci95"] = (
            default.ci95,
            static.ci95,
            mine.ci95,
        )
        ratio = held.vs_default(name, request.policy, request.all_seeds)
        row["vs_default_ci95"], row["gain_claimed"] = [ratio.low, ratio.high], ratio.gains
    return row


def _seen_by(request: Request, name: str) -> dict[str, str]:
    """What each policy's model knows of a workload; own files say nothing about that."""
    model = request.model or SHIPPED
    if model not in (OWN, SHIPPED):
        return {}
    return {
        policy: seen((policy, model, ""), request.cluster.name, name)
        for policy in request.policies
        if policy in POLICY_NAMES
    }


def _trail(found: Mapping[tuple[str, str, int], Measured], name: str, request: Request) -> RunTrail:
    """The judged policy's way through its first seed, for pictures."""
    tuned = found[name, request.policy, request.seed]
    first = min((step.ost for step in tuned.path), default=0)
    return {
        "default": list(found[name, "default", request.seed].series),
        "policy": list(tuned.series),
        "path": [[s.t_s, s.setting["pages"], s.setting["flight"]] for s in tuned.path if s.ost == first],
    }
