"""The description of a site (TOML): its I/O resources, the running jobs, and the next job."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from penstock import config
from penstock.errors import ConfigError, DataError
from penstock.schedule.application import Curve
from penstock.schedule.belief import PAST_SPREAD, CurveBelief, Measurement, believe
from penstock.schedule.darshan import PastRun, read_darshan
from penstock.schedule.family import FAMILIES
from penstock.schedule.ior import read_ior
from penstock.schedule.job import Job
from penstock.schedule.setfile import parse_curve
from penstock.schedule.site_rule import DEFAULT_ALLOCATION

Positive = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, BeforeValidator(config.spoken_size)]
"""Bytes, or bytes per second: a number, or text with a unit."""
AllocationName = Literal["random", "static", "bestbdw", "nsys", "tcpu", "mckp", "balance", "idle-nodes"]
CURVE_KEYS = frozenset(("bandwidth", "family", "family_bandwidth", "ior", "history", "darshan"))
"""Keys that say how fast an application is. A site that has one of them has its own curve."""
PlacementName = Literal["random", "greedy-non-clairvoyant", "greedy-clairvoyant"]


class PlatformSection(config.Section):
    """The shared resources of one kind, with ids from 0."""

    kind: Literal["ost", "io-node", "burst-buffer"] = "ost"
    resources: Positive
    compute_nodes: Positive
    names: list[str] = Field(default_factory=list)
    unusable: list[Count] = Field(default_factory=list)
    fsname: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,8}$")] = "lustre"
    family_limit: Positive = 8
    apply: Literal["directory", "progressive", "pool"] = "directory"
    worst_slowdown: Annotated[float, Field(gt=1)] | None = None
    allocation: AllocationName = DEFAULT_ALLOCATION
    placement: PlacementName | None = None


class OstHealthSection(config.Section):
    """Where to ask for the OSTs' health (`lfs df`) and, on a server, for their load."""

    mount: Annotated[str, Field(pattern=r"^/")]
    min_free: Annotated[float, Field(ge=0, lt=1)] = 0.05
    ost_bandwidth: Annotated[config.Size, Field(ge=1)] | None = None
    sample: Annotated[config.Duration, Field(gt=0, le=60)] = 1.0


class KnowledgeSection(config.Section):
    """What is known of an application: its curve is measured (`bandwidth`), or assumed from a `family`."""

    compute: Annotated[config.Duration, Field(ge=0)] | None = None
    io: Annotated[Amount, Field(ge=0)] | None = None
    bandwidth: dict[str, Amount] | None = None
    family: Literal["ascent", "descent", "peak", "neutral"] | None = None
    family_bandwidth: Annotated[config.Size, Field(ge=1)] | None = None
    measured_on: Positive | None = None
    best_count: Positive | None = None
    access: Literal["shared", "file-per-process"] | None = None
    darshan: str | None = None
    history: list[str] = Field(default_factory=list)
    ior: dict[str, str] = Field(default_factory=dict)
    directory: str | None = None


class JobSection(KnowledgeSection):
    """One job."""

    name: Annotated[str, Field(min_length=1)]
    compute_nodes: Positive
    resources: list[Count] = Field(default_factory=list)


class ApplicationSection(KnowledgeSection):
    """What is known of every job whose name matches, as a shell pattern: from this file or from a scheduler."""

    match: Annotated[str, Field(min_length=1)]
    nodes: Positive | None = None
    """Of several that match, the one with the number of nodes nearest to the job's counts."""


class LearnedSection(ApplicationSection):
    """An application of a file that `schedule learn` wrote. `low` and `high` are for people."""

    processes: Positive | None = None
    runs: Positive | None = None
    low: dict[str, Amount] = Field(default_factory=dict)
    high: dict[str, Amount] = Field(default_factory=dict)


class CurvesSection(config.Section):
    """A whole file of learned curves."""

    application: list[LearnedSection] = Field(default_factory=list)


def _listed(value: object) -> object:
    """One job may be a table of its own; several are an array of tables."""
    return [value] if isinstance(value, dict) else value


class SiteSection(config.Section):
    """The whole file."""

    platform: PlatformSection
    lustre: OstHealthSection | None = None
    running: list[JobSection] = Field(default_factory=list)
    next: Annotated[list[JobSection], BeforeValidator(_listed)] = Field(default_factory=list)
    application: list[ApplicationSection] = Field(default_factory=list)
    curves: str | None = None
    """A file of learned curves, relative to the site file."""


def known_of(name: str, nodes: int, site: SiteSection) -> dict[str, Any]:
    """What is known of a job with this name and size; empty if no application matches.

    The site file's own word goes before what was learned, fact by fact.
    """
    facts: dict[str, Any] = {}
    matching = [one for one in site.application if fnmatchcase(name, one.match)]
    for learned in (False, True):
        some = [one for one in matching if isinstance(one, LearnedSection) == learned]
        if some:
            near = min(some, key=lambda one: abs(math.log((one.nodes or nodes) / nodes)))
            about = near.model_dump(include=set(KnowledgeSection.model_fields), exclude_defaults=True)
            facts |= _unsettled(facts, about)
    return facts


def _unsettled(facts: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    """What of `about` is not in `facts`. Who has said anything of a curve has said all of it."""
    settled = facts.keys() | (CURVE_KEYS if facts.keys() & CURVE_KEYS else set())
    return {key: value for key, value in about.items() if key not in settled}


def _with_known(job: JobSection, site: SiteSection) -> JobSection:
    """The job with what the applications know of it. Its own word goes before theirs."""
    own = job.model_dump(exclude_defaults=True)
    return job.model_copy(update=_unsettled(own, known_of(job.name, job.compute_nodes, site)))


def load_site(path: Path) -> SiteSection:
    """Read and check a site file; resource ids must exist and names must be unique.

    Its jobs have what the applications of the file, and those of its curves, know of them.
    """
    site = config.load(path, SiteSection)
    if site.curves is not None:
        learned = config.load(path.parent / site.curves, CurvesSection).application
        site = site.model_copy(update={"application": [*site.application, *learned]})
    platform = site.platform
    if platform.names and len(platform.names) != platform.resources:
        raise ConfigError(
            f"{path}: platform.names lists {len(platform.names)} of {platform.resources} resources"
        )
    if platform.worst_slowdown is not None and platform.allocation != "idle-nodes":
        raise ConfigError(
            f"{path}: platform.worst_slowdown belongs to allocation idle-nodes, not to {platform.allocation}"
        )
    _check_ids(platform.unusable, platform.resources, f"{path}: platform.unusable")
    if len(platform.unusable) == platform.resources:
        raise ConfigError(f"{path}: platform.unusable names every resource, so no job can have any")
    for job in site.running:
        _check_ids(job.resources, platform.resources, f"{path}: running job {job.name!r}")
        if not job.resources:
            raise ConfigError(f"{path}: running job {job.name!r}: resources is missing")
    names = [job.name for job in site.running]
    if len(set(names)) < len(names):
        raise ConfigError(f"{path}: running job {max(names, key=names.count)!r} occurs twice")
    jobs = {"running": site.running, "next": site.next}
    return site.model_copy(
        update={key: [_with_known(job, site) for job in some] for key, some in jobs.items()}
    )


def job_of(section: JobSection, platform: PlatformSection, base: Path) -> Job:
    """The job with everything that can be found out about it. Paths are relative to the site file."""
    past = read_darshan(base / section.darshan) if section.darshan else None
    compute_s = section.compute if section.compute is not None else past.compute_s if past else None
    io_bytes = section.io if section.io is not None else past.io_bytes if past else None
    curve = _curve(section, platform, past)
    belief = None if curve is not None else _belief(section, platform, past, base)
    return Job(
        name=section.name,
        compute_nodes=section.compute_nodes,
        compute_s=compute_s,
        io_bytes=io_bytes,
        curve=belief.curve() if belief and belief.measured else curve,
        best_count=section.best_count,
        belief=belief,
        resources=tuple(section.resources),
        # One directory must have one name, because the job that set its layout is looked up by that name.
        directory=os.path.normpath(section.directory) if section.directory else None,
    )


def _belief(
    section: JobSection, platform: PlatformSection, past: PastRun | None, base: Path
) -> CurveBelief | None:
    """A curve estimated from IOR results, logs of past runs, and the class for everything else."""
    seen = [one for count, file in section.ior.items() for one in _ior(section.name, count, base / file)]
    runs = [read_darshan(base / log) for log in section.history] + ([past] if past else [])
    for run in runs:
        if run.bytes_per_s is not None and run.osts is not None:
            seen.append(Measurement(run.osts, run.bytes_per_s, PAST_SPREAD))
    if not seen and section.access is None:
        return None
    shared = next((run.shared for run in runs if run.shared is not None), None)
    found = {None: "unknown", True: "shared", False: "file-per-process"}[shared]
    return believe(section.access or found, min(platform.family_limit, platform.resources), seen)


def _ior(job: str, count: str, path: Path) -> Iterator[Measurement]:
    if not (count.isascii() and count.isdigit() and len(count) < 19 and int(count)):
        raise DataError(f"job {job!r}: ior: {count!r} is not a number of resources")
    return (Measurement(int(count), value) for value in read_ior(path))


def _curve(section: JobSection, platform: PlatformSection, past: PastRun | None) -> Curve | None:
    if section.bandwidth is not None:
        return parse_curve(section.bandwidth, f"job {section.name!r}: bandwidth")
    known = section.family_bandwidth or (past.bytes_per_s if past else None)
    if section.family is None:
        return None
    if known is None:
        raise DataError(f"job {section.name!r}: family needs family_bandwidth or a Darshan log with I/O")
    limit = min(platform.family_limit, platform.resources)
    seen = past.osts if past and section.family_bandwidth is None else None
    measured_on = section.measured_on or seen or 1
    return FAMILIES[section.family].curve(limit, float(known), min(measured_on, limit))


def _check_ids(ids: Sequence[int], resources: int, where: str) -> None:
    for resource in ids:
        if resource >= resources:
            raise ConfigError(f"{where}: {resource} is not a resource id (0 to {resources - 1})")
    if len(set(ids)) < len(ids):
        raise ConfigError(f"{where}: a resource is listed twice")
