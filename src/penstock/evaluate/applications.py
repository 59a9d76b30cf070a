"""Applications (CARAT's Fig. 8 and Table VII, DIAL's Table II): the I/O kernels of DLIO and H5bench."""

from __future__ import annotations

from penstock.evaluate.contest import competitors, contest
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import BEST_STATIC, Request
from penstock.evaluate.rows import ApplicationRow, ApplicationsDocument
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


def evaluate(lab: Lab, request: Request) -> ApplicationsDocument:
    """Every application under the default, the policies and its best static setting."""
    names = request.pick(NAMES)
    best = choose(
        lab, {name: [plan_of(request, name, request.seed)] for name in names}, request.seconds, ROUNDS
    )
    held = contest(lab, request, EXPERIMENT, plan_of, best)
    rows: list[ApplicationRow] = []
    for name in names:
        rates = {policy: held.rates[name, policy].value for policy in competitors(request)}
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
    summed = {policy: held.summary(names, policy) for policy in request.policies}
    return {**request.about(EXPERIMENT), "rows": rows, **summed[request.policy], "policies": summed}


def plan_of(request: Request, name: str, seed: int) -> Plan:
    return named_plan(request.cluster, name, 1, seed)
