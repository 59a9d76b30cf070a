"""Independent tuning (CARAT's Table V): two processes of one client with different needs, each on its own OSTs."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.evaluate.figures import geomean, mean
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import BEST_STATIC, Request
from penstock.evaluate.rows import BothRates, IndependentDocument, IndependentRow
from penstock.evaluate.search import choose
from penstock.evaluate.trial import Measured, Trial
from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.workload import parse_workload

EXPERIMENT = "independent"
# The pair of Table V, and a pair whose optima are far apart.
PAIRS = {"table-v": ("s_wr_sq_8k", "s_rd_sq_8k"), "random-1m": ("s_wr_rn_1m", "s_rd_rn_1m")}
# The two settings that CARAT chose most often, which the paper compares it with.
STATIC = {"optimal-1": Setting(pages=1024, flight=256), "optimal-2": Setting(pages=64, flight=256)}


def evaluate(lab: Lab, request: Request) -> IndependentDocument:
    """Run both processes at once under the default, the paper's two static settings, the best one, and the
    policies.
    """
    names = request.pick(tuple(PAIRS))
    best = choose(lab, {name: [plan_of(request, name, request.seed)] for name in names}, request.seconds)
    trials: dict[tuple[str, str, int], Trial] = {}
    for name in names:
        for seed in request.all_seeds:
            plan = plan_of(request, name, seed)
            for label, setting in STATIC.items():
                trials[name, label, seed] = request.held(plan, setting)
            for policy in ("default", BEST_STATIC, *request.policies):
                trials[name, policy, seed] = request.trial(plan, policy, best[name].setting)
    found = dict(zip(trials, lab.measure("independent tuning", list(trials.values())), strict=True))
    rows = [_row(request, name, best[name].setting, found) for name in names]
    return {
        **request.about(EXPERIMENT),
        "rows": rows,
        "geomean_vs_default": geomean(row["policy_mbps"] / row["default_mbps"] for row in rows),
        "geomean_vs_best_static": geomean(row["policy_mbps"] / row["best_static_mbps"] for row in rows),
        "policies": {
            policy: {
                "geomean_vs_default": geomean(
                    _total(row["mbps"][policy]) / row["default_mbps"] for row in rows
                )
            }
            for policy in request.policies
        },
    }


def plan_of(request: Request, name: str, seed: int) -> Plan:
    """The writer on the first server, the reader on the second."""
    apart = request.cluster.layout.osts_per_oss % request.cluster.layout.ost_count
    writer, reader = (parse_workload(work) for work in PAIRS[name])
    return Plan(request.cluster, (Job(writer, osts=(0,)), Job(reader, osts=(apart,))), 1, seed)


def _row(
    request: Request, name: str, best: Setting, found: Mapping[tuple[str, str, int], Measured]
) -> IndependentRow:
    labels = dict.fromkeys(label for row, label, _ in found if row == name)
    rates: dict[str, BothRates] = {}
    for label in labels:
        both = [found[name, label, seed].clients[0] for seed in request.all_seeds]
        rates[label] = {
            "write_mbps": mean([w for _, w in both]).value,
            "read_mbps": mean([r for r, _ in both]).value,
        }
    return {
        "workload": name,
        "processes": list(PAIRS[name]),
        "best_static": dict(best),
        "mbps": rates,
        "default_mbps": _total(rates["default"]),
        "best_static_mbps": _total(rates[BEST_STATIC]),
        "policy_mbps": _total(rates[request.policy]),
        "command": request.command(EXPERIMENT, name, [request.policy]),
    }


def _total(rates: BothRates) -> float:
    return rates["write_mbps"] + rates["read_mbps"]
