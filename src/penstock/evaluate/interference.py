"""Interference (CARAT's Table VI): clients with different workloads on overlapping OSTs, some or all of them tuned.

A client's share is its throughput divided by its throughput alone at the default. Fairness is Jain's index of the
shares. The ceiling holds on each client what a search found for that client, so that all together get most.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.evaluate import client_ceilings
from penstock.evaluate.authors_lists import AUTHORS_LISTS, Works
from penstock.evaluate.ceilings import switches
from penstock.evaluate.figures import geomean, jain, mean
from penstock.evaluate.lab import Lab
from penstock.evaluate.lists import distinct, find_list, kind_of, namesakes
from penstock.evaluate.request import Request
from penstock.evaluate.rows import (
    ClientRow,
    InterferenceDocument,
    InterferencePolicy,
    InterferenceTotal,
    SharedFigures,
)
from penstock.evaluate.trial import Measured, Trial
from penstock.simulate.assembly import Job, Plan
from penstock.workload import parse_workload

EXPERIMENT = "interference"
SINGLE, CEILING = "best-single", "ceiling"
# Ours. Some pages of results are about them.
MIXES: dict[str, Works] = {
    "read": ("s_rd_sq_1m", "s_rd_rn_16m", "f_rd_sq_8k", "f_rd_rn_1m", "f_rd_rn_8k"),
    "write": ("s_wr_sq_1m", "s_wr_rn_16m", "f_wr_sq_1m", "f_wr_rn_1m", "f_wr_sq_16m"),
    "mixed": ("s_rd_sq_1m", "f_rd_rn_1m", "s_wr_rn_1m", "f_wr_sq_16m", "s_rd_rn_16m"),
}
CROWDS = (20, 100)
CROWD_S = 20.0
SOME = (0, 3)
LOW = 0.8
# Our mixes with a few clients tuned, and with many clients.
VARIANTS = {f"{mix}-{kind}": MIXES[mix] for kind in ("some", *map(str, CROWDS)) for mix in MIXES}
KNOWN: Mapping[str, Works] = {**AUTHORS_LISTS, **MIXES, **VARIANTS}
# The authors' clients share so many OSTs, one for every stream of the largest workloads.
SHARED_OSTS = 5


@dataclass(frozen=True, slots=True)
class Scene:
    """The workloads of the clients, and which clients are tuned (None: all). `osts` are shared; 0: all there are."""

    mix: tuple[str, ...]
    clients: int
    tuned: tuple[int, ...] | None
    seconds: float
    osts: int = 0

    def workload(self, client: int) -> str:
        """What a client runs."""
        return self.mix[client % len(self.mix)]

    @property
    def works(self) -> tuple[str, ...]:
        """What every client runs."""
        return tuple(self.workload(client) for client in range(self.clients))


def scene_of(request: Request, name: str) -> Scene:
    """The scene of a name or file: `r_w_dd_10g_1`, or ours such as `read`, `read-some`, `read-20`."""
    works = find_list(name, KNOWN)
    kind = name.partition("-")[2] if name in VARIANTS else ""
    if kind.isdigit():
        return Scene(works, int(kind), None, min(request.seconds, CROWD_S))
    osts = 0 if name in MIXES or name in VARIANTS else SHARED_OSTS
    return Scene(works, len(works), SOME if kind else None, request.seconds, osts)


def plan_of(request: Request, scene: Scene, seed: int) -> Plan:
    """Client i begins at OST i and goes round. The authors' clients have five OSTs together: one with five streams
    uses all of them, one with a single stream the one of its number, which it shares with all of the former.
    """
    all_osts = request.cluster.layout.ost_count
    osts = min(scene.osts or all_osts, all_osts)
    jobs = tuple(
        Job(parse_workload(scene.workload(i)), i, osts=tuple((i + k) % osts for k in range(osts)))
        for i in range(scene.clients)
    )
    return Plan(request.cluster, jobs, scene.clients, seed)


@dataclass(frozen=True, slots=True)
class SceneRuns:
    """All that was measured of one scene, by label and seed, and what each client gets alone."""

    name: str
    scene: Scene
    choice: client_ceilings.ClientChoice | None
    runs: Mapping[tuple[str, int], Measured]
    alone: Mapping[str, float]
    seeds: Sequence[int]

    def each(self, label: str) -> list[Measured]:
        """The runs of a label, seed by seed."""
        return [self.runs[label, seed] for seed in self.seeds]

    def total(self, label: str) -> float | None:
        """All clients together; None if there was no such run."""
        if (label, self.seeds[0]) not in self.runs:
            return None
        return mean([run.app_mbps for run in self.each(label)]).value

    def client(self, label: str, client: int) -> float | None:
        """What one client got."""
        if (label, self.seeds[0]) not in self.runs:
            return None
        return statistics.fmean(sum(run.clients[client]) for run in self.each(label))


def evaluate(lab: Lab, request: Request) -> InterferenceDocument:
    """Every list asked for at the default and under every policy; the authors' with ceilings."""
    names = request.only or distinct(AUTHORS_LISTS)
    found = _measure(lab, request, {name: scene_of(request, name) for name in dict.fromkeys(names)})
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


def _measure(lab: Lab, request: Request, scenes: Mapping[str, Scene]) -> list[SceneRuns]:
    # A crowd, or one of which only some are tuned, has no ceiling that its policies could be held against.
    sought = {n: s for n, s in scenes.items() if s.tuned is None and s.clients == len(s.mix)}
    plans = {name: plan_of(request, scene, request.seed) for name, scene in sought.items()}
    choices = client_ceilings.search(lab, plans, request.seconds)
    trials: dict[tuple[str, str, int], Trial] = {}
    for name, scene in scenes.items():
        there = request.lasting(scene.seconds)
        for seed in request.all_seeds:
            plan = plan_of(request, scene, seed)
            if name in choices:
                choice, usual = choices[name], there.held(plan, None)
                for label, chosen in ((SINGLE, choice.single), (CEILING, choice.own)):
                    held = replace(usual.course, switches=switches(choice.places, chosen))
                    trials[name, label, seed] = replace(usual, course=held)
            for policy in ("default", *request.policies):
                made = there.trial(plan, policy)
                trials[name, policy, seed] = replace(made, course=replace(made.course, tuned=scene.tuned))
    alone = _alone(lab, request, scenes)
    found = lab.answer("interference", trials)
    return [
        SceneRuns(
            name,
            scene,
            choices.get(name),
            {(label, seed): run for (of, label, seed), run in found.items() if of == name},
            alone,
            request.all_seeds,
        )
        for name, scene in scenes.items()
    ]


def _alone(lab: Lab, request: Request, scenes: Mapping[str, Scene]) -> dict[str, float]:
    works = tuple(dict.fromkeys(work for scene in scenes.values() for work in scene.mix))
    there = request.lasting(min(request.seconds, CROWD_S))
    plans = [plan_of(request, Scene((work,), 1, None, there.seconds), request.seed) for work in works]
    measured = lab.measure("each alone", [there.held(plan, None) for plan in plans])
    return {work: one.app_mbps for work, one in zip(works, measured, strict=True)}


def _rows(request: Request, one: SceneRuns) -> list[ClientRow]:
    """One row for every client."""
    tuned = range(one.scene.clients) if one.scene.tuned is None else one.scene.tuned
    return [
        {
            "list": one.name,
            "client": client,
            "workload": work,
            "tuned": client in tuned,
            "alone_mbps": one.alone[work],
            "default_mbps": one.client("default", client) or 0.0,
            "best_single_mbps": one.client(SINGLE, client),
            "ceiling_mbps": one.client(CEILING, client),
            "ceiling": None if one.choice is None else dict(one.choice.own[client]),
            "policy_mbps": one.client(request.policy, client) or 0.0,
            "policies": {policy: one.client(policy, client) or 0.0 for policy in request.policies},
            "command": request.command(EXPERIMENT, one.name, [request.policy]),
        }
        for client, work in enumerate(one.scene.works)
    ]


def _total(request: Request, one: SceneRuns) -> InterferenceTotal:
    policies = {policy: _figures(one, policy) for policy in ("default", *request.policies)}
    mine, scene = policies[request.policy], one.scene
    return {
        "list": one.name,
        "also": namesakes(one.name, scene.mix, AUTHORS_LISTS),
        "kind": kind_of(scene.mix),
        "clients": scene.clients,
        "tuned_clients": scene.clients if scene.tuned is None else len(scene.tuned),
        "default_mbps": policies["default"]["mbps"],
        "best_single_mbps": one.total(SINGLE),
        "best_single": None if one.choice is None else dict(one.choice.single[0]),
        "ceiling_mbps": one.total(CEILING),
        "policy_mbps": mine["mbps"],
        "vs_default": mine["mbps"] / policies["default"]["mbps"],
        "default_fairness": policies["default"]["fairness"],
        "policy_fairness": mine["fairness"],
        "policies": policies,
        "command": request.command(EXPERIMENT, one.name, [request.policy]),
    }


def _figures(one: SceneRuns, policy: str) -> SharedFigures:
    runs, plain, scene = one.each(policy), one.each("default"), one.scene
    return {
        "mbps": mean([run.app_mbps for run in runs]).value,
        "ci95": mean([run.app_mbps for run in runs]).ci95,
        "wire_mbps": mean([run.rpc_mbps for run in runs]).value,
        "fairness": mean([_fairness(run, scene, one.alone) for run in runs]).value,
        "moves_per_client_minute": mean([_moves(run, scene) for run in runs]).value,
        "under_used": mean([_under(run, base, scene) for run, base in zip(runs, plain, strict=True)]).value,
        "tuned_vs_default": _part(runs, plain, scene, tuned=True),
        "untuned_vs_default": _part(runs, plain, scene, tuned=False),
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


def _summary(request: Request, lists: Sequence[InterferenceTotal]) -> dict[str, InterferencePolicy]:
    def over(policy: str, against: str) -> list[float]:
        pairs = ((one["policies"][policy]["mbps"], one[against]) for one in lists)  # type: ignore[literal-required]
        return [mine / base for mine, base in pairs if base]

    return {
        policy: {
            "geomean_vs_default": geomean(over(policy, "default_mbps")),
            "worst_vs_default": min(over(policy, "default_mbps")),
            "geomean_vs_ceiling": geomean(over(policy, "ceiling_mbps")) or None,
        }
        for policy in request.policies
    }
