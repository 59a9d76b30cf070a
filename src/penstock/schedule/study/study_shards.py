"""Campaigns of `penstock schedule study`: a shard is a batch of sets at one load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import Field

from penstock.campaign.kinds import Kind, Row, Shard
from penstock.config import Section
from penstock.errors import ConfigError, did_you_mean
from penstock.schedule.family import family_profiles
from penstock.schedule.profile import load_profiles
from penstock.schedule.study.sweep import USUAL_APPLICATIONS, Batch, batches, experiments_of, run_batch


class StudySection(Section):
    """Some experiments of the study. Without `data` the curves are those of the built-in families."""

    experiments: tuple[str, ...] = Field(default=("load",), strict=False)
    applications: tuple[int, ...] = Field(default=(USUAL_APPLICATIONS,), strict=False)
    sets: int = Field(default=110, ge=2)
    seed: int = 0
    data: str | None = None


def _shards(asked: StudySection, directory: Path) -> list[Shard]:
    known = experiments_of(asked.applications)
    shards = []
    for name in asked.experiments:
        if name not in known:
            raise ConfigError(f"experiment {name!r}: there is {', '.join(known)}{did_you_mean(name, known)}")
        for batch in batches(known[name], asked.sets, asked.seed):
            work = {"experiment": name, "applications": list(asked.applications), "point": batch.point}
            work |= {"first": batch.first, "sets": batch.sets, "seed": batch.seed}
            data = None if asked.data is None else str(directory / asked.data)
            shards.append(Shard(batch.key.replace("/", "_"), work | {"data": data}))
    return shards


def _rows(work: Mapping[str, Any]) -> list[Row]:
    experiment = experiments_of(work["applications"])[work["experiment"]]
    curves = work["data"]
    profiles = family_profiles() if curves is None else load_profiles(experiment.curves, Path(curves))
    batch = Batch(experiment, work["point"], work["first"], work["sets"], work["seed"])
    rows: list[Row] = []
    for row in run_batch(batch, profiles):
        plain = asdict(row)
        method = plain.pop("method")
        rows.append(
            {"experiment": experiment.name, "applications": experiment.applications, **method, **plain}
        )
    return rows


_FIGURES = ("least_load", "mean_io_slowdown", "max_io_slowdown", "slowdown_allocation", "io_spread")
STUDY = Kind(
    StudySection,
    _shards,
    _rows,
    {
        "experiment": str,
        "applications": int,
        "allocation": str,
        "placement": str,
        "knowledge": str,
        "point": float,
        "index": int,
        **dict.fromkeys((*_FIGURES, "machine_idle_time"), float),
    },
    program=("schedule",),
)
