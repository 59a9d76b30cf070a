"""Campaigns that collect training data and survey random worlds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import Field

from penstock.campaign.kinds import Kind, Row, Shard
from penstock.config import Duration, Section
from penstock.train.collect import CollectedRun
from penstock.train.collection import Collection, simulate_table
from penstock.train.parquet import SCHEMA
from penstock.train.survey import drawn, measure
from penstock.train.table import NUMBERS
from penstock.train.worlds import DescribedWorld
from penstock.workload import SINGLE_STREAM

KEYS: Mapping[str, type] = {"workload": str, "iteration": int, "ost": int, "observation_no": int}


class CollectSection(Section):
    """The runs of `penstock train collect`, a shard each; `penstock train fit` reads the shards."""

    cluster: str = "c220g5"
    workloads: tuple[str, ...] = Field(default=SINGLE_STREAM, strict=False)
    runs: int = Field(default=30, ge=1)
    seconds: Duration = Field(default=300.0, gt=0)
    seed: int = 0


class SurveySection(Section):
    """The worlds of `penstock train survey`, a shard each."""

    worlds: int = Field(default=700, ge=1)
    seconds: Duration = Field(default=3.5, gt=0)
    seed: int = 0


def _collect_shards(asked: CollectSection, directory: Path) -> list[Shard]:
    wanted = Collection(directory, asked.cluster, asked.workloads, asked.runs, asked.seconds, asked.seed)
    return [Shard(run.id.replace("/", "_"), asdict(run)) for run in wanted.plan()]


def _collect_rows(work: Mapping[str, Any]) -> list[Row]:
    table = simulate_table(CollectedRun(**work))
    columns: dict[str, list[Any]] = {name: getattr(table, name).tolist() for name in KEYS}
    columns |= {name: table.column(name).tolist() for name in NUMBERS}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _survey_shards(asked: SurveySection, directory: Path) -> list[Shard]:
    about = {"seconds": asked.seconds, "seed": asked.seed}
    return [
        Shard(f"{number:05d}-{world.name}", about | {"name": world.name, "text": world.text})
        for number, world in enumerate(drawn(asked.worlds, asked.seed))
    ]


def _survey_rows(work: Mapping[str, Any]) -> list[Row]:
    """The rates of each setting in the world; no row if the world moved nothing at the default."""
    held = measure(DescribedWorld(work["name"], work["text"]), work["seconds"], work["seed"])
    if held is None:
        return []
    return [
        {
            "world": held.origin,
            "kind": held.kind,
            "pages": setting["pages"],
            "flight": setting["flight"],
            "read_mbps": level.mean.read / 1e6,
            "write_mbps": level.mean.write / 1e6,
            "windows": level.count,
            "relative_error": level.error,
        }
        for setting, level in held.levels.items()
    ]


COLLECT = Kind(
    CollectSection,
    _collect_shards,
    _collect_rows,
    {**KEYS, **dict.fromkeys(NUMBERS, float)},
    stamp={"penstock.schema": str(SCHEMA)},
    program=("simulate", "knobs", "train/collect.py", "train/collection.py"),
)
SURVEY = Kind(
    SurveySection,
    _survey_shards,
    _survey_rows,
    {
        "world": str,
        "kind": str,
        "pages": int,
        "flight": int,
        "read_mbps": float,
        "write_mbps": float,
        "windows": int,
        "relative_error": float,
    },
    program=("simulate", "knobs", "train/survey.py", "train/draws.py", "decide"),
)
