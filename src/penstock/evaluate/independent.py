"""Independent tuning (CARAT's Table V): two processes of one client with different needs, each on an OST of its own.

Both OSTs may belong to one server or to two. The paper's figures come from other hardware, so what is judged are
ratios to the default, writer and reader apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.evaluate.ceilings import Chosen, Climb, Place, climb, course_of, starts, switches
from penstock.evaluate.figures import geomean, mean
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import BEST_STATIC, Request
from penstock.evaluate.rows import BothRates, BothRatios, IndependentDocument, IndependentRow
from penstock.evaluate.search import choose
from penstock.evaluate.trial import Measured, Trial
from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.workload import parse_workload

EXPERIMENT = "independent"
CEILING = "ceiling"
SEARCH_S = 30.0
# The pair of Table V, and a pair whose optima are far apart: on two servers, and both on one.
_WORKS = {"table-v": ("s_wr_sq_8k", "s_rd_sq_8k"), "random-1m": ("s_wr_rn_1m", "s_rd_rn_1m")}
_ONE_SERVER = "-one-server"
PAIRS = {**_WORKS, **{f"{name}{_ONE_SERVER}": works for name, works in _WORKS.items()}}
# The two settings that CARAT chose most often, which the paper compares it with.
STATIC = {"optimal-1": Setting(pages=1024, flight=256), "optimal-2": Setting(pages=64, flight=256)}


@dataclass(frozen=True, slots=True)
class PairChoice:
    """What the pair is held at: both at one setting, or each process at its own."""

    single: Setting
    places: tuple[Place, ...]
    own: Chosen


def evaluate(lab: Lab, request: Request) -> IndependentDocument:
    """Run both processes at once under the default, the paper's two static settings, the best single one, the best
    one for each process, and the policies.
    """
    names = request.pick(tuple(PAIRS))
    chosen = _search(lab, request, {name: plan_of(request, name, request.seed) for name in names})
    trials: dict[tuple[str, str, int], Trial] = {}
    for name in names:
        for seed in request.all_seeds:
            plan, one = plan_of(request, name, seed), chosen[name]
            for label, setting in STATIC.items():
                trials[name, label, seed] = request.held(plan, setting)
            for policy in ("default", BEST_STATIC, *request.policies):
                trials[name, policy, seed] = request.trial(plan, policy, one.single)
            usual = request.held(plan, None)
            held = replace(usual.course, switches=switches(one.places, one.own))
            trials[name, CEILING, seed] = replace(usual, course=held)
    found = lab.answer("independent tuning", trials)
    rows = [_row(request, name, chosen[name], found) for name in names]
    return {
        **request.about(EXPERIMENT),
        "rows": rows,
        "geomean_vs_default": geomean(_both(row["vs_default"][request.policy]) for row in rows),
        "geomean_vs_best_static": geomean(
            _both(row["vs_default"][request.policy]) / _both(row["vs_default"][BEST_STATIC]) for row in rows
        ),
        "policies": {
            policy: {"geomean_vs_default": geomean(_both(row["vs_default"][policy]) for row in rows)}
            for policy in request.policies
        },
    }


def plan_of(request: Request, name: str, seed: int) -> Plan:
    """The writer on the first OST, the reader on the first of the second server, or on the same server's second."""
    layout = request.cluster.layout
    apart = 1 if name.endswith(_ONE_SERVER) else layout.osts_per_oss
    writer, reader = (parse_workload(work) for work in PAIRS[name])
    jobs = (Job(writer, osts=(0,)), Job(reader, osts=(apart % layout.ost_count,)))
    return Plan(request.cluster, jobs, 1, seed)


def _search(lab: Lab, request: Request, plans: Mapping[str, Plan]) -> dict[str, PairChoice]:
    """The best single setting by the total of both, and the best pair of settings by the product of both rates, which
    starves neither.
    """
    single = choose(lab, {name: [plan] for name, plan in plans.items()}, request.seconds)
    places = (Place(0, 0), Place(0, None, writes=False))
    searches = {}
    for name, plan in plans.items():
        both = (places[0], replace(places[1], ost=plan.jobs[1].osts[0]))
        begin = starts(request.cluster, 2, [single[name].setting])
        course = course_of(min(request.seconds, SEARCH_S))
        searches[name] = Climb(plan, both, begin, course, _product)
    found = climb(lab, searches)
    return {name: PairChoice(single[name].setting, searches[name].places, found[name]) for name in plans}


def _product(run: Measured) -> float:
    ((read, write),) = run.clients
    return math.sqrt(read * write)


def _row(
    request: Request, name: str, chosen: PairChoice, found: Mapping[tuple[str, str, int], Measured]
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
        "best_static": dict(chosen.single),
        "ceiling": [dict(setting) for setting in chosen.own],
        "mbps": rates,
        "vs_default": {label: _ratios(each, rates["default"]) for label, each in rates.items()},
        "default_mbps": _total(rates["default"]),
        "best_static_mbps": _total(rates[BEST_STATIC]),
        "policy_mbps": _total(rates[request.policy]),
        "command": request.command(EXPERIMENT, name, [request.policy]),
    }


def _ratios(rates: BothRates, default: BothRates) -> BothRatios:
    """Writer and reader against the default; a process that got nothing there counts as unchanged."""
    return {
        "write": rates["write_mbps"] / default["write_mbps"] if default["write_mbps"] else 1.0,
        "read": rates["read_mbps"] / default["read_mbps"] if default["read_mbps"] else 1.0,
    }


def _both(ratios: BothRatios) -> float:
    """The geometric mean of writer and reader, so that the faster one does not decide."""
    return math.sqrt(ratios["write"] * ratios["read"])


def _total(rates: BothRates) -> float:
    return rates["write_mbps"] + rates["read_mbps"]
