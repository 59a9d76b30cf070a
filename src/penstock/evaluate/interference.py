"""Interference (CARAT's Table VI): clients with different workloads on overlapping OSTs, some or all of them tuned.

A client's share is its throughput divided by its throughput alone at the default. Fairness is Jain's index of the
shares.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.evaluate.figures import geomean, jain, mean
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import Request
from penstock.evaluate.rows import InterferenceDocument, InterferenceRow, MeanAndWorst, SharedFigures
from penstock.evaluate.trial import Measured, Trial
from penstock.simulate.assembly import Job, Plan
from penstock.workload import parse_workload

EXPERIMENT = "interference"
MIXES = {
    "read": ("s_rd_sq_1m", "s_rd_rn_16m", "f_rd_sq_8k", "f_rd_rn_1m", "f_rd_rn_8k"),
    "write": ("s_wr_sq_1m", "s_wr_rn_16m", "f_wr_sq_1m", "f_wr_rn_1m", "f_wr_sq_16m"),
    "mixed": ("s_rd_sq_1m", "f_rd_rn_1m", "s_wr_rn_1m", "f_wr_sq_16m", "s_rd_rn_16m"),
}
CROWDS = (20, 100)
CROWD_S = 20.0
SOME = (0, 3)
LOW = 0.8
NAMES = (*MIXES, *(f"{mix}-some" for mix in MIXES), *(f"{mix}-{crowd}" for crowd in CROWDS for mix in MIXES))


@dataclass(frozen=True, slots=True)
class Scene:
    """The workloads of the clients, and which clients are tuned (None: all)."""

    mix: tuple[str, ...]
    clients: int
    tuned: tuple[int, ...] | None
    seconds: float

    def workload(self, client: int) -> str:
        """What a client runs."""
        return self.mix[client % len(self.mix)]


def scene_of(request: Request, name: str) -> Scene:
    """The scene of a row: `read`, `read-some`, `read-20`."""
    mix, _, kind = name.partition("-")
    if kind.isdigit():
        return Scene(MIXES[mix], int(kind), None, min(request.seconds, CROWD_S))
    return Scene(MIXES[mix], len(MIXES[mix]), SOME if kind else None, request.seconds)


def evaluate(lab: Lab, request: Request) -> InterferenceDocument:
    """Every mix at the default and under every policy."""
    scenes = {name: scene_of(request, name) for name in request.pick(NAMES)}
    trials: dict[tuple[str, str, int], Trial] = {}
    for name, scene in scenes.items():
        there = request.lasting(scene.seconds)
        for seed in request.all_seeds:
            for policy in ("default", *request.policies):
                made = there.trial(plan_of(request, scene, seed), policy)
                trials[name, policy, seed] = replace(made, course=replace(made.course, tuned=scene.tuned))
    alone = _alone(lab, request, scenes)
    found = dict(zip(trials, lab.measure("interference", list(trials.values())), strict=True))
    rows = [_row(request, name, scene, found, alone) for name, scene in scenes.items()]
    summed = _summary(request, rows)
    return {**request.about(EXPERIMENT), "rows": rows, **summed[request.policy], "policies": summed}


def plan_of(request: Request, scene: Scene, seed: int) -> Plan:
    """Clients start at consecutive OSTs and five streams cover five OSTs, so that every client shares some."""
    osts = request.cluster.layout.ost_count
    jobs = tuple(
        Job(parse_workload(scene.workload(i)), i, osts=tuple((i + k) % osts for k in range(osts)))
        for i in range(scene.clients)
    )
    return Plan(request.cluster, jobs, scene.clients, seed)


def _alone(lab: Lab, request: Request, scenes: Mapping[str, Scene]) -> dict[str, float]:
    works = tuple(dict.fromkeys(work for scene in scenes.values() for work in scene.mix))
    there = request.lasting(min(request.seconds, CROWD_S))
    plans = [plan_of(request, Scene((work,), 1, None, there.seconds), request.seed) for work in works]
    measured = lab.measure("each alone", [there.held(plan, None) for plan in plans])
    return {work: one.app_mbps for work, one in zip(works, measured, strict=True)}


def _row(
    request: Request,
    name: str,
    scene: Scene,
    found: Mapping[tuple[str, str, int], Measured],
    alone: Mapping[str, float],
) -> InterferenceRow:
    seeds = request.all_seeds
    plain = [found[name, "default", seed] for seed in seeds]
    policies: dict[str, SharedFigures] = {}
    for policy in ("default", *request.policies):
        runs = [found[name, policy, seed] for seed in seeds]
        policies[policy] = {
            "mbps": mean([run.app_mbps for run in runs]).value,
            "ci95": mean([run.app_mbps for run in runs]).ci95,
            "wire_mbps": mean([run.rpc_mbps for run in runs]).value,
            "fairness": mean([_fairness(run, scene, alone) for run in runs]).value,
            "moves_per_client_minute": mean([_moves(run, scene) for run in runs]).value,
            "under_used": mean(
                [_under(run, base, scene) for run, base in zip(runs, plain, strict=True)]
            ).value,
            "tuned_vs_default": _part(runs, plain, scene, tuned=True),
            "untuned_vs_default": _part(runs, plain, scene, tuned=False),
        }
    mine = policies[request.policy]
    return {
        "workload": name,
        "clients": scene.clients,
        "tuned_clients": scene.clients if scene.tuned is None else len(scene.tuned),
        "default_mbps": policies["default"]["mbps"],
        "policy_mbps": mine["mbps"],
        "vs_default": mine["mbps"] / policies["default"]["mbps"],
        "default_fairness": policies["default"]["fairness"],
        "policy_fairness": mine["fairness"],
        "policies": policies,
        "command": request.command(EXPERIMENT, name, [request.policy]),
    }


def _rates(run: Measured) -> list[float]:
    return [read + write for read, write in run.clients]


def _fairness(run: Measured, scene: Scene, alone: Mapping[str, float]) -> float:
    return jain([rate / alone[scene.workload(client)] for client, rate in enumerate(_rates(run))])


def _moves(run: Measured, scene: Scene) -> float:
    """The number of settings changed in the second half. A tuner that has settled makes few changes."""
    return run.late_moves / scene.clients / (scene.seconds / 120.0)


def _under(run: Measured, base: Measured, scene: Scene) -> float:
    """The share of the second half in which the total was below 80 % of the default's mean."""
    half = len(run.series) // 2
    goal = LOW * base.mean(scene.seconds / 2, scene.seconds)
    late = run.series[half:]
    return sum(rate < goal for rate in late) / max(1, len(late))


def _part(runs: list[Measured], plain: list[Measured], scene: Scene, *, tuned: bool) -> float | None:
    """The throughput of the tuned clients, or of the others, relative to the default."""
    chosen = range(scene.clients) if scene.tuned is None else scene.tuned
    clients = [client for client in range(scene.clients) if (client in chosen) is tuned]
    if not clients:
        return None
    ours, theirs = (
        statistics.fmean(sum(_rates(run)[client] for client in clients) for run in each)
        for each in (runs, plain)
    )
    return ours / theirs


def _summary(request: Request, rows: list[InterferenceRow]) -> dict[str, MeanAndWorst]:
    def over(policy: str) -> list[float]:
        return [row["policies"][policy]["mbps"] / row["default_mbps"] for row in rows]

    return {
        policy: {"geomean_vs_default": geomean(over(policy)), "worst_vs_default": min(over(policy))}
        for policy in request.policies
    }
