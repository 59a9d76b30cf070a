"""Dynamic workloads (CARAT's Fig. 7): sequences of four, compared with one static setting for the whole sequence.

All workloads of a sequence use the same OSTs, so a tuner starts each with the setting of the one before. Throughput
is that of the whole sequence, including all switches and adaptation.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.evaluate.drivers import Course
from penstock.evaluate.figures import geomean, mean
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import Request
from penstock.evaluate.rows import DynamicDocument, DynamicPolicy, DynamicRow, SequenceRatios
from penstock.evaluate.search import CHOICE_SEED, ROUNDS, choose
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.evaluate.static import best_static
from penstock.evaluate.trial import WARMUP_S, Measured, Trial
from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import Cluster
from penstock.workload import parse_workload

EXPERIMENT = "dynamic"
# Each sequence has two workloads with one stream and two with five, sequential and random, small and large requests.
SEQUENCES = {
    "read": ("s_rd_sq_1m", "f_rd_rn_1m", "s_rd_rn_16m", "f_rd_sq_8k"),
    "write": ("s_wr_sq_1m", "f_wr_rn_1m", "s_wr_rn_1m", "f_wr_sq_16m"),
    "mixed": ("s_rd_rn_1m", "f_wr_rn_1m", "f_rd_sq_1m", "s_wr_rn_16m"),
}
FAST_S = {"30s": 30.0, "10s": 10.0}
FAST_TOTAL_S = 240.0
SEARCH_S = 60.0
FINALISTS = 3
REACHED = 0.9
SMOOTH = round(2.0 / INTERVAL_S)
NAMES = (*SEQUENCES, *(f"{name}-{pace}" for pace in FAST_S for name in SEQUENCES))


@dataclass(frozen=True, slots=True)
class Phases:
    """Workloads that follow each other on one client, each for the same time."""

    cluster: Cluster
    workloads: tuple[str, ...]
    turns: int
    every_s: float

    @property
    def names(self) -> tuple[str, ...]:
        """All phases in order."""
        return self.workloads * self.turns

    @property
    def seconds(self) -> float:
        """How long it all lasts."""
        return self.every_s * len(self.names)

    def plan(self, seed: int) -> Plan:
        """The plan. The warm-up runs the first workload and is not part of its time."""
        jobs, start_s = [], 0.0
        for number, name in enumerate(self.names):
            stop_s = WARMUP_S + (number + 1) * self.every_s
            jobs.append(
                Job(
                    parse_workload(name), 0, start_s, stop_s, osts=tuple(range(self.cluster.layout.ost_count))
                )
            )
            start_s = stop_s
        return Plan(self.cluster, tuple(jobs), 1, seed)

    def rates(self, measured: Measured) -> list[float]:
        """The mean rate of every phase."""
        return [measured.mean(i * self.every_s, (i + 1) * self.every_s) for i in range(len(self.names))]


def phases_of(request: Request, name: str) -> Phases:
    """The sequence of a row, `read` or `read-10s`."""
    sequence, _, pace = name.partition("-")
    workloads = SEQUENCES[sequence]
    if not pace:
        return Phases(request.cluster, workloads, 1, request.seconds)
    every_s = min(FAST_S[pace], request.seconds)
    turns = max(1, round(min(FAST_TOTAL_S, 4 * request.seconds) / every_s / len(workloads)))
    return Phases(request.cluster, workloads, turns, every_s)


def evaluate(lab: Lab, request: Request) -> DynamicDocument:
    """All sequences under default, policies, the best single static setting and each workload's own."""
    rows = {name: phases_of(request, name) for name in request.pick(NAMES)}
    workloads = tuple(dict.fromkeys(work for phases in rows.values() for work in phases.workloads))
    own = {
        name: found.setting
        for name, found in best_static(
            lab, request.lasting(min(request.seconds, SEARCH_S)), workloads
        ).items()
    }
    one = _best_single(lab, request, rows)
    trials: dict[tuple[str, str, int], Trial] = {}
    for name, phases in rows.items():
        there = request.lasting(phases.seconds)
        for seed in request.all_seeds:
            plan = phases.plan(seed)
            held = {"best-single": one[name], **{f"own {work}": own[work] for work in phases.workloads}}
            for label, setting in held.items():
                trials[name, label, seed] = there.held(plan, setting)
            for policy in ("default", *request.policies):
                trials[name, policy, seed] = there.trial(plan, policy, one[name])
    measured = dict(zip(trials, lab.measure("sequences", list(trials.values())), strict=True))
    documents = [_row(request, name, phases, one[name], measured) for name, phases in rows.items()]
    summed = _summary(request, documents)
    return {
        **request.about(EXPERIMENT),
        "rows": documents,
        **summed[request.policy],
        "policies": summed,
    }


def _best_single(lab: Lab, request: Request, rows: Mapping[str, Phases]) -> dict[str, Setting]:
    """The setting with the highest throughput for a whole sequence: searched on its parts first, the last few as a
    whole.
    """
    groups = {
        "/".join(phases.workloads): [
            named_plan(request.cluster, work, seed=request.seed) for work in phases.workloads
        ]
        for phases in rows.values()
    }
    parts = choose(lab, groups, min(request.seconds, SEARCH_S), ROUNDS[:3])
    trials = {}
    for name, phases in rows.items():
        turns = 1 if phases.every_s >= SEARCH_S else phases.turns
        shorter = Phases(phases.cluster, phases.workloads, turns, min(phases.every_s, SEARCH_S))
        plan = shorter.plan(request.seed + CHOICE_SEED)
        for setting in parts["/".join(phases.workloads)].ranking[:FINALISTS]:
            trials[name, setting] = Trial(plan, Course(shorter.seconds, WARMUP_S, setting))
    found = dict(zip(trials, lab.measure("search, whole sequences", list(trials.values())), strict=True))
    return {
        name: max((s for n, s in found if n == name), key=lambda s: found[name, s].app_mbps) for name in rows
    }


def _row(
    request: Request,
    name: str,
    phases: Phases,
    one: Setting,
    measured: Mapping[tuple[str, str, int], Measured],
) -> DynamicRow:
    def over_seeds(label: str) -> float:
        return mean([measured[name, label, seed].app_mbps for seed in request.all_seeds]).value

    first = {
        label: found for (row, label, seed), found in measured.items() if (row, seed) == (name, request.seed)
    }
    own = [phases.rates(first[f"own {work}"])[i] for i, work in enumerate(phases.names)]
    default, best, mine = over_seeds("default"), over_seeds("best-single"), over_seeds(request.policy)
    return {
        "workload": name,
        "phases": list(phases.names),
        "phase_s": phases.every_s,
        "default_mbps": default,
        "best_single_mbps": best,
        "best_single": dict(one),
        "own_optimum_mbps": statistics.fmean(own),
        "policy_mbps": mine,
        "vs_default": mine / default,
        "phases_vs_default": {policy: _over_phases(first, phases, policy) for policy in request.policies},
        "vs_best_single": mine / best,
        "vs_own_optimum": mine / statistics.fmean(own),
        "policies": {policy: over_seeds(policy) for policy in request.policies},
        "phase_mbps": {label: phases.rates(found) for label, found in first.items()},
        "own_phase_mbps": own,
        "adapt_s": adapting(first[request.policy], own, phases.every_s),
        "changes": first[request.policy].changes,
        "trail": {label: list(first[label].series) for label in ("default", "best-single", request.policy)},
        "path": [
            [s.t_s, s.setting["pages"], s.setting["flight"]] for s in first[request.policy].path if s.ost == 0
        ],
        "command": request.command(EXPERIMENT, name, [request.policy]),
    }


def _over_phases(first: Mapping[str, Measured], phases: Phases, policy: str) -> float:
    """The geometric mean over phases, so that a much faster phase does not dominate."""
    rates = (phases.rates(first[label]) for label in (policy, "default"))
    return geomean(mine / base for mine, base in zip(*rates, strict=True) if base > 0)


def adapting(measured: Measured, own: Sequence[float], every_s: float) -> list[float | None]:
    """Seconds from each switch until two seconds in a row reached 90 % of the workload's own optimum.

    None if that never happened. Bytes moved before the switch do not count.
    """
    length = round(every_s / INTERVAL_S)
    found: list[float | None] = []
    for number, goal in enumerate(own):
        part = measured.series[number * length : (number + 1) * length]
        reached = (
            end
            for end in range(SMOOTH, len(part) + 1)
            if statistics.fmean(part[end - SMOOTH : end]) >= REACHED * goal
        )
        end = next(reached, None)
        found.append(None if end is None else end * INTERVAL_S)
    return found


def _summary(request: Request, rows: Sequence[DynamicRow]) -> dict[str, DynamicPolicy]:
    """The goal applies to long phases. Fast switching is summarised separately."""
    slow = [row for row in rows if row["workload"] in SEQUENCES]
    fast = [row for row in rows if row["workload"] not in SEQUENCES]
    return {
        policy: {**_ratios(policy, slow or fast), "fast_switching": _ratios(policy, fast) if fast else None}
        for policy in request.policies
    }


def _ratios(policy: str, rows: Sequence[DynamicRow]) -> SequenceRatios:
    default = [row["policies"][policy] / row["default_mbps"] for row in rows]
    best = [row["policies"][policy] / row["best_single_mbps"] for row in rows]
    return {
        "geomean_vs_default": geomean(default),
        "phases_geomean_vs_default": geomean(row["phases_vs_default"][policy] for row in rows),
        "worst_vs_default": min(default),
        "geomean_vs_best_single": geomean(best),
        "worst_vs_best_single": min(best),
    }
