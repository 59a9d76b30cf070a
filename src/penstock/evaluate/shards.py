"""Campaigns of simulations and experiments: response surfaces, the static workloads, described and drawn worlds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from penstock.campaign.kinds import Kind, Row, Shard
from penstock.config import Duration, Section
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import Request, Terms
from penstock.evaluate.scenarios import evaluate_worlds
from penstock.evaluate.simulated import grid
from penstock.evaluate.store import Store
from penstock.evaluate.tuners import shipped_policy
from penstock.knobs import Setting
from penstock.train.draws import draw_worlds
from penstock.train.worlds import DescribedWorld, load_world
from penstock.workload import NAMES, parse_workload

Words = tuple[str, ...]


class SurfaceSection(Section):
    """Every workload at every setting of the grid, each held on its own."""

    cluster: str = "c220g5"
    workloads: Words = Field(default=NAMES, strict=False)
    seconds: Duration = Field(default=10.0, gt=0)
    warmup: Duration = Field(default=5.0, ge=0)
    seed: int = 0
    settings_per_shard: int = Field(default=11, ge=1, le=99)


class StaticSection(Section):
    """The rows of `penstock evaluate static`, a shard each."""

    cluster: str = "c220g5"
    workloads: Words = Field(default=NAMES, strict=False)
    policies: Words = Field(default=(), strict=False)
    seconds: Duration = Field(default=60.0, ge=1)
    seed: int = 0
    seeds: int = Field(default=1, ge=1)


class WorldsSection(Section):
    """How described worlds are judged."""

    policies: Words = Field(default=(), strict=False)
    seconds: Duration = Field(default=120.0, ge=1)
    seed: int = 0
    seeds: int = Field(default=1, ge=1)
    search: bool = True


class ScenariosSection(WorldsSection):
    """The rows of `penstock evaluate scenarios`, a shard each."""

    files: Words = Field(strict=False, min_length=1)


class RobustSection(WorldsSection):
    """The rows of `penstock evaluate robust`, a shard each."""

    draws: int = Field(default=24, ge=1)


def _surface_shards(asked: SurfaceSection, directory: Path) -> Iterator[Shard]:
    for workload in asked.workloads:
        parse_workload(workload)
    settings = [[setting["pages"], setting["flight"]] for setting in grid()]
    cluster = _cluster(asked.cluster, directory)
    for workload in asked.workloads:
        for first in range(0, len(settings), asked.settings_per_shard):
            part = settings[first : first + asked.settings_per_shard]
            work = {"cluster": cluster, "workload": workload, "settings": part, "seed": asked.seed}
            work |= {"seconds": asked.seconds, "warmup": asked.warmup}
            yield Shard(f"{workload}-{first:02d}", work)


def _surface_rows(work: Mapping[str, Any]) -> Iterator[Row]:
    from penstock.evaluate.simulated import hold
    from penstock.simulate.catalogue import named_plan
    from penstock.simulate.cluster import find_cluster

    plan = named_plan(find_cluster(work["cluster"]), work["workload"], seed=work["seed"])
    for pages, flight in work["settings"]:
        cell = hold(plan, work["seconds"], work["warmup"], Setting(pages=pages, flight=flight))
        row = {"workload": work["workload"], "pages": pages, "flight": flight}
        yield row | {"app_mbps": cell.app_mbps, "rpc_mbps": cell.rpc_mbps}


def _static_shards(asked: StaticSection, directory: Path) -> Iterator[Shard]:
    policies = list(asked.policies or (shipped_policy(),))
    about = {"cluster": _cluster(asked.cluster, directory), "policies": policies, "seconds": asked.seconds}
    for workload in asked.workloads:
        parse_workload(workload)
        yield Shard(workload, about | {"workload": workload, "seed": asked.seed, "seeds": asked.seeds})


def _static_rows(work: Mapping[str, Any]) -> Iterator[Row]:
    from penstock.evaluate.static import evaluate
    from penstock.simulate.cluster import find_cluster

    policies = tuple(work["policies"])
    name = work["workload"]
    cluster = find_cluster(work["cluster"])
    request = Request(policies, work["seconds"], work["seed"], work["seeds"], cluster=cluster, only=(name,))
    with Lab(Store(None), workers=1) as lab:
        document = evaluate(lab, request)
    (row,) = document["rows"]
    for policy in policies:
        yield {
            "workload": name,
            "policy": policy,
            "default_mbps": row["default_mbps"],
            "best_static_mbps": row["best_static_mbps"],
            "best_pages": row["best_static"]["pages"],
            "best_flight": row["best_static"]["flight"],
            "policy_mbps": document["policies"][policy]["mbps"][name],
        }


def _world_shards(asked: WorldsSection, worlds: Sequence[DescribedWorld]) -> Iterator[Shard]:
    policies = list(asked.policies or (shipped_policy(),))
    about = {"policies": policies, "seconds": asked.seconds, "search": asked.search}
    about |= {"seed": asked.seed, "seeds": asked.seeds}
    for number, world in enumerate(worlds):
        world.plan(asked.seed)
        described = {"name": world.name, "text": world.text, "families": list(world.families)}
        yield Shard(f"{number:05d}-{world.name}", about | described | {"directory": world.directory})


def _scenario_shards(asked: ScenariosSection, directory: Path) -> Iterator[Shard]:
    return _world_shards(asked, [load_world(directory / file) for file in asked.files])


def _robust_shards(asked: RobustSection, directory: Path) -> Iterator[Shard]:
    return _world_shards(asked, list(draw_worlds(asked.seed, asked.draws)))


def _world_rows(work: Mapping[str, Any]) -> Iterator[Row]:
    world = DescribedWorld(work["name"], work["text"], tuple(work["families"]), work["directory"])
    policies, seeds = tuple(work["policies"]), work["seeds"]
    terms = Terms(policies, work["seconds"], work["seed"], seeds)
    with Lab(Store(None), workers=1) as lab:
        (row,) = evaluate_worlds(lab, [world], terms, search=work["search"])["rows"]
    best = row["best_static"] or {}
    for policy, figures in row["policies"].items():
        yield {
            "scenario": row["scenario"],
            "policy": policy,
            "default_mbps": row["default"]["app_mbps"],
            "best_static_mbps": best.get("app_mbps"),
            "best_pages": best.get("pages"),
            "best_flight": best.get("flight"),
            "policy_mbps": figures["app_mbps"],
            **{name: None if (value := figures[name]) is None else float(value) for name in _FIGURES},
            "document": json.dumps(row),
        }


def _cluster(name: str, directory: Path) -> str:
    """A cluster file by its whole path, so that a worker finds it; built-in names stay."""
    from penstock.simulate.cluster import find_cluster

    path = directory / name
    found = str(path) if name.endswith(".toml") else name
    find_cluster(found)
    return found


def _listed(rows: Callable[[Mapping[str, Any]], Iterator[Row]]) -> Callable[[Mapping[str, Any]], list[Row]]:
    return lambda work: list(rows(work))


_FIGURES = (
    "vs_default", "vs_default_last_half", "least_job", "least_direction", "trial_cost", "trials", "trials_to_best",
    "changes",
)  # fmt: skip
_BEST = {"default_mbps": float, "best_static_mbps": float, "best_pages": int, "best_flight": int}
_WORLD_COLUMNS: Mapping[str, type] = {
    "scenario": str, "policy": str, **_BEST, "policy_mbps": float, **dict.fromkeys(_FIGURES, float), "document": str,
}  # fmt: skip
SURFACE = Kind(
    SurfaceSection,
    lambda asked, directory: list(_surface_shards(asked, directory)),
    _listed(_surface_rows),
    {"workload": str, "pages": int, "flight": int, "app_mbps": float, "rpc_mbps": float},
    program=("simulate", "knobs"),
)
STATIC = Kind(
    StaticSection,
    lambda asked, directory: list(_static_shards(asked, directory)),
    _listed(_static_rows),
    {"workload": str, "policy": str, **_BEST, "policy_mbps": float},
)
SCENARIOS = Kind(
    ScenariosSection,
    lambda asked, directory: list(_scenario_shards(asked, directory)),
    _listed(_world_rows),
    _WORLD_COLUMNS,
)
ROBUST = Kind(
    RobustSection,
    lambda asked, directory: list(_robust_shards(asked, directory)),
    _listed(_world_rows),
    _WORLD_COLUMNS,
)
