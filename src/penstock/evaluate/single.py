"""One simulated run from a user's request: the plan, how it is driven, and the resulting figures."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from penstock.config import read
from penstock.evaluate.lab import Lab
from penstock.evaluate.metadata_runs import metadata_answer
from penstock.evaluate.reading_runs import reading_answer
from penstock.evaluate.recorded_requests import read_requests
from penstock.evaluate.run_request import RunRequest
from penstock.evaluate.search import choose
from penstock.evaluate.simulated import Course, Run, run
from penstock.evaluate.store import Store
from penstock.knobs import Setting
from penstock.simulate.assembly import Plan
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import Cluster
from penstock.simulate.faults import parse_fault
from penstock.simulate.recorded import play
from penstock.simulate.scenario import parse_scenario, scenario_plan

Progress = Callable[[float], None]


def answer(
    request: RunRequest, cluster: Cluster, progress: Progress, searching: Progress
) -> dict[str, object]:
    """Run it and tell what it achieved, as `penstock simulate run --json` prints it."""
    if request.of_metadata:
        return metadata_answer(request, cluster, progress)
    if request.of_reading:
        return reading_answer(request, cluster, progress)
    plan, seconds, warmup = _plan(request, cluster)
    started = time.perf_counter()
    held, policy = request.wanted or None, request.policy
    if policy == "best-static":
        held, policy = _best_static(plan, seconds, searching), None
    model = None if request.model is None else str(request.model)
    outcome = run(plan, Course(seconds, warmup, held, policy, model=model), progress)
    document = {
        "workload": request.workload or str(request.scenario or request.trace),
        "cluster": cluster.name,
        "seconds": seconds,
        "seed": request.seed,
        **outcome.total.figures,
        "rpcs": int(outcome.total.totals.rpcs),
        "events": outcome.events,
        "wall_s": time.perf_counter() - started,
        "final": dict(outcome.final),
        "changes": outcome.changes,
    }
    if plan.faults:
        document["lost_bytes"] = sum(outcome.lost_bytes)
    if plan.clients > 1:
        document["clients"] = _each_client(outcome, plan)
    return document


def _plan(request: RunRequest, cluster: Cluster) -> tuple[Plan, float, float]:
    """What runs, with its events, for how long, and after which warm-up."""
    times = request.times()
    if request.trace is not None:
        requests = read_requests(request.trace)
        script = play(requests, request.trace.name, "open" if request.loop == "open" else "closed")
        plan = Plan(cluster, (), requests.clients, request.seed, scripts=(script,))
        times = request.times(max(requests.span_s, 1e-3), 0.0)
    elif request.scenario is not None:
        name = str(request.scenario)
        plan = scenario_plan(parse_scenario(read(request.scenario), name), cluster, request.seed, name)
    else:
        plan = named_plan(cluster, str(request.workload), request.clients or 1, request.seed)
    jobs = tuple(replace(job, shared="shared") for job in plan.jobs) if request.shared else plan.jobs
    return replace(plan, jobs=jobs, faults=plan.faults + tuple(map(parse_fault, request.events))), *times


def _best_static(plan: Plan, seconds: float, progress: Progress) -> Setting:
    """The best static setting, searched on another seed and held from the start."""
    with Lab(Store(None), progress=lambda _, runs, total: progress(runs / total)) as lab:
        return choose(lab, {"run": [plan]}, seconds)["run"].setting


def _each_client(outcome: Run, plan: Plan) -> list[dict[str, float]]:
    lost = [{"lost_bytes": float(size)} if plan.faults else {} for size in outcome.lost_bytes]
    return [{**one.figures, **extra} for one, extra in zip(outcome.clients, lost, strict=True)]
