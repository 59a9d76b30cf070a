"""A site's description (TOML): its I/O resources, who runs on which, and the job that comes next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from penstock import config
from penstock.errors import ConfigError, DataError
from penstock.schedule.application import Curve
from penstock.schedule.darshan import PastRun, read_darshan
from penstock.schedule.family import FAMILIES
from penstock.schedule.job import Job

Positive = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]


class PlatformSection(config.Section):
    """The shared resources of one kind, with ids from 0."""

    kind: Literal["ost", "io-node", "burst-buffer"] = "ost"
    resources: Positive
    compute_nodes: Positive
    names: list[str] = Field(default_factory=list)
    unusable: list[Count] = Field(default_factory=list)
    fsname: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,8}$")] = "lustre"
    family_limit: Positive = 8


class JobSection(config.Section):
    """One job. Its curve is measured (`bandwidth`) or assumed (`family` through one known bandwidth)."""

    name: Annotated[str, Field(min_length=1)]
    compute_nodes: Positive
    compute: Annotated[config.Duration, Field(ge=0)] | None = None
    io: Annotated[config.Size, Field(ge=0)] | None = None
    bandwidth: dict[str, config.Size] | None = None
    family: Literal["ascent", "descent", "peak", "neutral"] | None = None
    family_bandwidth: Annotated[config.Size, Field(ge=1)] | None = None
    measured_on: Positive = 1
    best_count: Positive | None = None
    darshan: str | None = None
    directory: str | None = None
    resources: list[Count] = Field(default_factory=list)


class SiteSection(config.Section):
    """The whole file."""

    platform: PlatformSection
    running: list[JobSection] = Field(default_factory=list)
    next: JobSection | None = None


def load_site(path: Path) -> SiteSection:
    """Read and check a site file; resource ids must exist and names must be unique."""
    site = config.load(path, SiteSection)
    platform = site.platform
    if platform.names and len(platform.names) != platform.resources:
        raise ConfigError(
            f"{path}: platform.names lists {len(platform.names)} of {platform.resources} resources"
        )
    _check_ids(platform.unusable, platform.resources, f"{path}: platform.unusable")
    for job in site.running:
        _check_ids(job.resources, platform.resources, f"{path}: running job {job.name!r}")
        if not job.resources:
            raise ConfigError(f"{path}: running job {job.name!r}: resources is missing")
    names = [job.name for job in site.running]
    if len(set(names)) < len(names):
        raise ConfigError(f"{path}: running job {max(names, key=names.count)!r} occurs twice")
    return site


def job_of(section: JobSection, platform: PlatformSection, base: Path) -> Job:
    """The job with everything that can be found out about it; a log's path is relative to the site file."""
    past = read_darshan(base / section.darshan) if section.darshan else None
    compute_s = section.compute if section.compute is not None else past.compute_s if past else None
    io_bytes = section.io if section.io is not None else past.io_bytes if past else None
    return Job(
        name=section.name,
        compute_nodes=section.compute_nodes,
        compute_s=compute_s,
        io_bytes=io_bytes,
        curve=_curve(section, platform, past),
        best_count=section.best_count,
        resources=tuple(section.resources),
        directory=section.directory,
    )


def _curve(section: JobSection, platform: PlatformSection, past: PastRun | None) -> Curve | None:
    if section.bandwidth is not None:
        counts = sorted(int(key) for key in section.bandwidth if key.isdigit() and int(key) > 0)
        wrong = next((key for key in section.bandwidth if not key.isdigit()), None)
        if wrong is not None:
            raise DataError(f"job {section.name!r}: bandwidth: {wrong!r} is not a number of resources")
        try:
            return Curve(tuple(counts), tuple(float(section.bandwidth[str(n)]) for n in counts))
        except DataError as error:
            raise DataError(f"job {section.name!r}: {error}") from None
    known = section.family_bandwidth or (past.bytes_per_s if past else None)
    if section.family is None:
        return None
    if known is None:
        raise DataError(f"job {section.name!r}: family needs family_bandwidth or a Darshan log with I/O")
    limit = min(platform.family_limit, platform.resources)
    return FAMILIES[section.family].curve(limit, float(known), min(section.measured_on, limit))


def _check_ids(ids: Sequence[int], resources: int, where: str) -> None:
    for resource in ids:
        if resource >= resources:
            raise ConfigError(f"{where}: {resource} is not a resource id (0 to {resources - 1})")
    if len(set(ids)) < len(ids):
        raise ConfigError(f"{where}: a resource is listed twice")
