"""A Slurm job as its hooks see it: the environment of PrologSlurmctld, and hints in the job's comment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.config import validate
from penstock.errors import ConfigError, DataError, MissingError, did_you_mean
from penstock.schedule.lfs import Owner
from penstock.schedule.site import JobSection, SiteSection, known_of

MARK = "penstock"
#: Word in a comment -> key of a job in the site file.
HINTS = {
    "io": "io",
    "compute": "compute",
    "best": "best_count",
    "class": "access",
    "family": "family",
    "bandwidth": "family_bandwidth",
    "measured_on": "measured_on",
    "dir": "directory",
}
WITH_FAMILY = frozenset(("bandwidth", "family_bandwidth", "darshan"))
"""A family says how a curve rises; one of these says where it begins."""
FOR_LICENCES = "rate"
"""A hint that only job_submit.lua reads."""


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """What a hook knows of its job, and the job's hints that could not be used."""

    section: JobSection
    owner: Owner
    complaints: tuple[str, ...]


def slurm_job(environment: Mapping[str, str], site: SiteSection) -> SlurmJob:
    """The job of the hook that runs us. Wrong hints are left out and reported; they are not an error."""
    job_id = environment.get("SLURM_JOB_ID", "")
    if not job_id.replace("_", "").isalnum():
        raise MissingError("SLURM_JOB_ID: not set: --slurm is for Slurm's hooks")
    known = known_of(environment.get("SLURM_JOB_NAME", ""), _nodes(environment), site)
    facts, complaints = with_hints(known, environment.get("SLURM_JOB_COMMENT", ""))
    base = {"name": job_id, "compute_nodes": _nodes(environment)}
    section = validate({**facts, **base}, JobSection, f"job {job_id}")
    if section.directory is not None and not section.directory.startswith("/"):
        complaints.append(f"hint: dir={section.directory} is not an absolute path")
        section = section.model_copy(update={"directory": None})
    owner = Owner(_number(environment, "SLURM_JOB_UID"), _number(environment, "SLURM_JOB_GID"))
    return SlurmJob(section, owner, tuple(complaints))


def with_hints(known: Mapping[str, Any], comment: str) -> tuple[dict[str, Any], list[str]]:
    """What is known of a job, with the hints of its comment that can be used, and what is wrong with the others.

    >>> with_hints({"io": 5}, "penstock family=ascent best=2")[0]
    {'io': 5, 'best_count': 2}
    """
    facts = dict(known)
    hints, complaints = parse_hints(comment)
    for key, value in hints.items():
        try:
            validate({"name": "hint", "compute_nodes": 1, key: value}, JobSection, "hint")
        except ConfigError as error:
            complaints.append(str(error))
        else:
            facts[key] = value
    if "family" in facts and not facts.keys() & WITH_FAMILY:
        complaints.append(
            f"hint: family={facts.pop('family')} needs a bandwidth: add bandwidth=, such as 1GB"
        )
    return facts, complaints


def parse_hints(comment: str) -> tuple[dict[str, Any], list[str]]:
    """`KEY=VALUE` words after the word `penstock`, up to a semicolon, as keys of a job; and what is wrong.

    >>> parse_hints("nightly run; penstock io=2TiB best=4 dir=/scratch/x; thanks")
    ({'io': '2TiB', 'best_count': 4, 'directory': '/scratch/x'}, [])
    """
    _, mark, rest = f" {comment} ".partition(f" {MARK} ")
    hints: dict[str, Any] = {}
    complaints = []
    for word in rest.split(";")[0].split() if mark else ():
        key, equals, value = word.partition("=")
        if key == FOR_LICENCES:
            continue
        if key not in HINTS or not equals:
            complaints.append(f"hint: {word[:60]!r} is unknown{did_you_mean(key, HINTS)}")
            continue
        whole = key in ("best", "measured_on") and value.isascii() and value.isdigit() and len(value) < 19
        hints[HINTS[key]] = int(value) if whole else value
    return hints, complaints


def _nodes(environment: Mapping[str, str]) -> int:
    return max(_number(environment, "SLURM_JOB_NUM_NODES"), 1)


def _number(environment: Mapping[str, str], name: str) -> int:
    value = environment.get(name, "0")
    if not (value.isascii() and value.isdigit() and len(value) < 19):
        raise DataError(f"{name}: {value!r} is not a number")
    return int(value)
