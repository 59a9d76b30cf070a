"""Dynamic workloads (CARAT's Fig. 7): the authors' sequences, compared with the ceiling of every phase.

All workloads of a sequence use the same OSTs, so a tuner starts each with the setting of the one before. Throughput
includes all switches and adaptation. The ceiling of a phase is what a search found for it: in its sequence, or alone
on an idle client if that is more, because a phase may suffer from what the one before it left to be written.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.evaluate import phase_ceilings
from penstock.evaluate.authors_lists import AUTHORS_SEQUENCES, Works
from penstock.evaluate.drivers import Course
from penstock.evaluate.figures import geomean, mean
from penstock.evaluate.lab import Lab
from penstock.evaluate.lists import distinct, find_list, namesakes
from penstock.evaluate.phases import Phases
from penstock.evaluate.request import Request
from penstock.evaluate.rows import DynamicDocument, DynamicPolicy, PhaseRow, SequenceRatios, SequenceTotal
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.evaluate.trial import Measured, Trial

EXPERIMENT = "dynamic"
SINGLE, CEILING = "best-single", "ceiling"
# Ours, with two workloads of one stream and two of five in each. Some pages of results are about them.
SEQUENCES: dict[str, Works] = {
    "read": ("s_rd_sq_1m", "f_rd_rn_1m", "s_rd_rn_16m", "f_rd_sq_8k"),
    "write": ("s_wr_sq_1m", "f_wr_rn_1m", "s_wr_rn_1m", "f_wr_sq_16m"),
    "mixed": ("s_rd_rn_1m", "f_wr_rn_1m", "f_rd_sq_1m", "s_wr_rn_16m"),
}
FAST_S = {"30s": 30.0, "10s": 10.0}
FAST_TOTAL_S = 240.0
FAST = {f"{name}-{pace}": works for pace in FAST_S for name, works in SEQUENCES.items()}
KNOWN: Mapping[str, Works] = {**AUTHORS_SEQUENCES, **SEQUENCES, **FAST}
REACHED = 0.9
SMOOTH = round(2.0 / INTERVAL_S)


def phases_of(request: Request, name: str) -> Phases:
    """The sequence of a name or file: `write_sequence_2`, or ours such as `read` or `read-10s`."""
    workloads = find_list(name, KNOWN)
    if name not in FAST:
        return Phases(request.cluster, workloads, 1, request.seconds)
    every_s = min(FAST_S[name.partition("-")[2]], request.seconds)
    turns = max(1, round(min(FAST_TOTAL_S, 4 * request.seconds) / every_s / len(workloads)))
    return Phases(request.cluster, workloads, turns, every_s)


@dataclass(frozen=True, slots=True)
class SequenceRuns:
    """All that was measured of one sequence, by label and seed, and the settings that searches found for it."""

    name: str
    phases: Phases
    choice: phase_ceilings.PhaseChoice
    runs: Mapping[tuple[str, int], Measured]
    seeds: Sequence[int]

    def total(self, label: str) -> float:
        """The mean rate over the whole sequence and all seeds."""
        return mean([self.runs[label, seed].app_mbps for seed in self.seeds]).value

    def rates(self, label: str) -> list[float]:
        """The mean rate of every phase over all seeds."""
        each = [self.phases.rates(self.runs[label, seed]) for seed in self.seeds]
        return [statistics.fmean(of_phase) for of_phase in zip(*each, strict=True)]

    def ceilings(self) -> list[float]:
        """The ceiling of every phase."""
        alone = [
            statistics.fmean(self.runs[_alone(work), seed].app_mbps for seed in self.seeds)
            for work in self.phases.names
        ]
        return [max(pair) for pair in zip(self.rates(CEILING), alone, strict=True)]


def _alone(work: str) -> str:
    """The label of a workload that runs alone."""
    return f"alone {work}"


def evaluate(lab: Lab, request: Request) -> DynamicDocument:
    """The sequences asked for under default, policies, the best single setting, and every phase's ceiling."""
    names = request.only or distinct(AUTHORS_SEQUENCES)
    found = _measure(lab, request, {name: phases_of(request, name) for name in dict.fromkeys(names)})
    lists = [_total(request, one) for one in found]
    rows = [row for one in found for row in _rows(request, one)]
    summed = _summary(request, lists)
    return {
        **request.about(EXPERIMENT),
        "rows": rows,
        "lists": lists,
        **summed[request.policy],
        "policies": summed,
    }


def _measure(lab: Lab, request: Request, sequences: Mapping[str, Phases]) -> list[SequenceRuns]:
    chosen = phase_ceilings.search(lab, request, sequences)
    trials: dict[tuple[str, str, int], Trial] = {}
    for name, phases in sequences.items():
        there = request.lasting(phases.seconds)
        for seed in request.all_seeds:
            plan, one = phases.plan(seed), chosen[name]
            trials[name, SINGLE, seed] = there.held(plan, one.single)
            usual = there.held(plan, None)
            trials[name, CEILING, seed] = replace(
                usual, course=replace(usual.course, switches=phases.switches(one.own))
            )
            for work, setting in zip(phases.names, one.alone, strict=True):
                single = replace(phases, workloads=(work,), turns=1)
                course = Course(phases.every_s, 0.0, setting)
                trials[name, _alone(work), seed] = Trial(single.plan(seed), course)
            for policy in ("default", *request.policies):
                trials[name, policy, seed] = there.trial(plan, policy, one.single)
    measured = lab.answer("sequences", trials)
    return [
        SequenceRuns(
            name,
            phases,
            chosen[name],
            {(label, seed): run for (of, label, seed), run in measured.items() if of == name},
            request.all_seeds,
        )
        for name, phases in sequences.items()
    ]


def _rows(request: Request, one: SequenceRuns) -> list[PhaseRow]:
    """One row for every phase."""
    labels = ("default", SINGLE, *request.policies)
    rates = {label: one.rates(label) for label in labels}
    ceilings = one.ceilings()
    return [
        {
            "list": one.name,
            "phase": at + 1,
            "workload": work,
            "seconds": one.phases.every_s,
            "default_mbps": rates["default"][at],
            "best_single_mbps": rates[SINGLE][at],
            "ceiling_mbps": ceilings[at],
            "ceiling": dict(one.choice.own[at]),
            "policy_mbps": rates[request.policy][at],
            "policies": {policy: rates[policy][at] for policy in request.policies},
            "command": request.command(EXPERIMENT, one.name, [request.policy]),
        }
        for at, work in enumerate(one.phases.names)
    ]


def _total(request: Request, one: SequenceRuns) -> SequenceTotal:
    phases, first = (
        one.phases,
        {label: run for (label, seed), run in one.runs.items() if seed == request.seed},
    )
    default, best, mine = one.total("default"), one.total(SINGLE), one.total(request.policy)
    ceilings = one.ceilings()
    ceiling = statistics.fmean(ceilings)
    return {
        "list": one.name,
        "also": namesakes(one.name, phases.workloads, AUTHORS_SEQUENCES),
        "phases": list(phases.names),
        "phase_s": phases.every_s,
        "default_mbps": default,
        "best_single_mbps": best,
        "best_single": dict(one.choice.single),
        "ceiling_mbps": ceiling,
        "policy_mbps": mine,
        "vs_default": mine / default,
        "vs_best_single": mine / best,
        "vs_ceiling": mine / ceiling,
        "policies": {policy: one.total(policy) for policy in request.policies},
        "phases_vs_default": {
            policy: _over_phases(one, policy, one.rates("default")) for policy in request.policies
        },
        "phases_vs_ceiling": {policy: _over_phases(one, policy, ceilings) for policy in request.policies},
        "adapt_s": adapting(first[request.policy], ceilings, phases.every_s),
        "changes": first[request.policy].changes,
        "trail": {label: list(first[label].series) for label in ("default", CEILING, request.policy)},
        "path": [
            [s.t_s, s.setting["pages"], s.setting["flight"]] for s in first[request.policy].path if s.ost == 0
        ],
        "command": request.command(EXPERIMENT, one.name, [request.policy]),
    }


def _over_phases(one: SequenceRuns, policy: str, against: Sequence[float]) -> float:
    """The geometric mean over phases, so that a much faster phase does not dominate."""
    pairs = zip(one.rates(policy), against, strict=True)
    return geomean(mine / base for mine, base in pairs if base > 0)


def adapting(measured: Measured, own: Sequence[float], every_s: float) -> list[float | None]:
    """Seconds from each switch until two seconds in a row reached 90 % of the phase's ceiling.

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


def _summary(request: Request, lists: Sequence[SequenceTotal]) -> dict[str, DynamicPolicy]:
    """The goal applies to long phases. Fast switching is summarised separately."""
    slow = [one for one in lists if one["list"] not in FAST]
    fast = [one for one in lists if one["list"] in FAST]
    return {
        policy: {**_ratios(policy, slow or fast), "fast_switching": _ratios(policy, fast) if fast else None}
        for policy in request.policies
    }


def _ratios(policy: str, lists: Sequence[SequenceTotal]) -> SequenceRatios:
    default = [one["policies"][policy] / one["default_mbps"] for one in lists]
    best = [one["policies"][policy] / one["best_single_mbps"] for one in lists]
    return {
        "geomean_vs_default": geomean(default),
        "phases_geomean_vs_default": geomean(one["phases_vs_default"][policy] for one in lists),
        "phases_geomean_vs_ceiling": geomean(one["phases_vs_ceiling"][policy] for one in lists),
        "worst_vs_default": min(default),
        "geomean_vs_best_single": geomean(best),
        "worst_vs_best_single": min(best),
    }
