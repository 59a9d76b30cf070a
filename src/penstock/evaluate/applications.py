"""Applications (CARAT's Fig. 8 and Table VII, DIAL's Table II): the I/O kernels of DLIO and H5bench.

Every application does a fixed amount of work, and what counts is the time it takes, from its start to the moment at
which all it wrote is on the servers. Adaptation is part of that time: there is no warm-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.evaluate.ceilings import Climb, Place, climb, starts
from penstock.evaluate.contest import Contest, competitors
from penstock.evaluate.drivers import Course
from penstock.evaluate.figures import mean
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import BEST_STATIC, Request
from penstock.evaluate.rows import ApplicationRow, ApplicationsDocument, WorkTime
from penstock.evaluate.search import Round
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.evaluate.trial import WARMUP_S, Measured, Trial
from penstock.knobs import Setting
from penstock.simulate.assembly import Plan
from penstock.simulate.catalogue import named_plan
from penstock.simulate.script import with_an_end

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
#: How often an application goes through its script at the usual `--seconds`, so that the default takes about that
#: long: epochs with their checkpoint, or 24 GiB of files.
WORK = {"dlio-bert": 2.0, "dlio-megatron": 8.0, "bdcats-strided": 3.0}
USUAL_S = 60.0
#: A run that takes more than so many times `--seconds` is given up; its rate counts as far as it came.
PATIENCE, SEARCH_PATIENCE = 20.0, 3.0


def evaluate(lab: Lab, request: Request) -> ApplicationsDocument:
    """Every application under the default, the policies and its best single setting."""
    names = request.pick(NAMES)
    best = _best(lab, request, names)
    trials: dict[tuple[str, str, int], Trial] = {
        (name, policy, seed): _trial(request, plan_of(request, name, seed), policy, best[name])
        for name in names
        for policy in competitors(request)
        for seed in request.all_seeds
    }
    found = lab.answer(EXPERIMENT, trials)
    rates = {
        (name, policy): mean([found[name, policy, seed].work_mbps for seed in request.all_seeds])
        for name in names
        for policy in competitors(request)
    }
    held = Contest(found, rates, {})
    rows = [_row(request, name, best[name], held) for name in names]
    summed = {policy: held.summary(names, policy) for policy in request.policies}
    return {**request.about(EXPERIMENT), "rows": rows, **summed[request.policy], "policies": summed}


def plan_of(request: Request, name: str, seed: int) -> Plan:
    """The application with its fixed amount of work."""
    plan = named_plan(request.cluster, name, 1, seed)
    rounds = WORK.get(name.partition(":")[0], 1.0) * request.seconds / USUAL_S
    return replace(plan, scripts=tuple(with_an_end(script, rounds) for script in plan.scripts))


def course_of(request: Request) -> Course:
    """From the start until all is done."""
    return Course(PATIENCE * request.seconds, 0.0, until_done=True)


def _trial(request: Request, plan: Plan, policy: str, best: Setting) -> Trial:
    trial, usual = request.trial(plan, policy, best), course_of(request)
    return replace(trial, course=replace(trial.course, seconds=usual.seconds, warmup_s=0.0, until_done=True))


def _best(lab: Lab, request: Request, names: Sequence[str]) -> dict[str, Setting]:
    """The best single setting for the whole run, dirty limit included, chosen on another seed."""
    course = replace(course_of(request), seconds=SEARCH_PATIENCE * request.seconds)
    searches = {}
    for name in names:
        plan = plan_of(request, name, request.seed)
        place = Place(writes=any(script.read_ratio < 1 for script in plan.scripts))
        searches[name] = Climb(plan, (place,), starts(request.cluster, 1), course, lambda run: run.work_mbps)
    return {name: chosen[0] for name, chosen in climb(lab, searches).items()}


def _row(request: Request, name: str, best: Setting, held: Contest) -> ApplicationRow:
    rates = {policy: held.rates[name, policy].value for policy in competitors(request)}
    times = {
        policy: _times([held.found[name, policy, seed] for seed in request.all_seeds]) for policy in rates
    }
    usual = held.found[name, "default", request.seed]
    return {
        "workload": name,
        "read_gb": sum(usual.read) * INTERVAL_S / 1e3,
        "write_gb": sum(usual.write) * INTERVAL_S / 1e3,
        "default_mbps": rates["default"],
        "best_static_mbps": rates[BEST_STATIC],
        "best_static": dict(best),
        "policy_mbps": rates[request.policy],
        "policies": rates,
        "times": times,
        "speedup": times["default"]["seconds"] / times[request.policy]["seconds"],
        "command": request.command(EXPERIMENT, name, [request.policy]),
    }


def _times(runs: Sequence[Measured]) -> WorkTime:
    parts = [apart(run) for run in runs]
    return {
        "seconds": mean([part.total_s for part in parts]).value,
        "read_s": mean([part.read_s for part in parts]).value,
        "write_s": mean([part.write_s for part in parts]).value,
        "done": all(run.done_s is not None for run in runs),
    }


@dataclass(frozen=True, slots=True)
class SpentTime:
    """How long work took, and how much of that went into reading and into writing."""

    total_s: float
    read_s: float
    write_s: float


def apart(run: Measured) -> SpentTime:
    """The time of a run by what its tasks did at the end of each interval. Waiting for a checkpoint to reach the
    servers is writing, waiting for others to read is reading.
    """
    total_s = run.done_s if run.done_s is not None else len(run.writing) * INTERVAL_S
    write_s = sum(
        share * max(0.0, min(INTERVAL_S, total_s - at * INTERVAL_S)) for at, share in enumerate(run.writing)
    )
    return SpentTime(total_s, total_s - write_s, write_s)
