"""Finished runs of applications: what Darshan logs measured, joined by job id with accounting and the ledger."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from penstock.errors import DataError, MissingError, PenstockError
from penstock.schedule.darshan import PastRun, read_darshan
from penstock.schedule.jobtrace import TraceJob


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """One run: of which application, on how many resources, and how fast.

    `kind` is what makes applications similar: how they access files.
    """

    application: str
    kind: str
    count: int
    bytes_per_s: float
    io_bytes: float
    compute_s: float
    compute_nodes: int


@dataclass(frozen=True, slots=True)
class LoggedJob:
    """A Darshan log and the id of its job."""

    path: Path
    job: str
    past: PastRun


@dataclass(frozen=True, slots=True)
class Joined:
    """The runs that curves can be learned from, and why others cannot: by reason, ids of jobs or names of logs."""

    runs: tuple[FinishedRun, ...]
    left_out: Mapping[str, tuple[str, ...]]


def find_logs(directories: Sequence[Path]) -> tuple[Path, ...]:
    """All Darshan logs below the directories."""
    found: list[Path] = []
    for directory in directories:
        if not directory.exists():
            raise MissingError(f"{directory}: no such directory of Darshan logs")
        found += [directory] if directory.is_file() else sorted(directory.rglob("*.darshan"))
    return tuple(found)


def read_logs(paths: Sequence[Path]) -> tuple[list[LoggedJob], dict[str, str]]:
    """Every log that can be read, and what is wrong with the others. Each is read in a process of its own."""
    logs, broken = [], {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, (past, error) in zip(paths, pool.map(_try_log, paths), strict=True):
            if past is None:
                broken[path.name] = error
            else:
                logs.append(LoggedJob(path, past.job, past))
    return logs, broken


def _try_log(path: Path) -> tuple[PastRun | None, str]:
    try:
        return read_darshan(path), ""
    except DataError as error:
        return None, str(error)


def join(
    jobs: Sequence[TraceJob],
    logs: Sequence[LoggedJob],
    granted: Mapping[str, int],
    patterns: Sequence[str] = (),
) -> Joined:
    """Match logs with jobs. `granted` tells on how many resources jobs of the ledger ran, where the log does not.

    An application is the first pattern that the job's name matches (its name in the accounting, else the program),
    with its number of nodes and processes. Without patterns every name is an application.
    """
    by_id = {job.id: job for job in jobs}
    programs = {log.job: log.past.program for log in logs}
    names = {job.id: _application(job.name or programs.get(job.id, ""), patterns) for job in jobs}
    runs: list[FinishedRun] = []
    left_out: dict[str, list[str]] = {}
    for log in logs:
        name = names.get(log.job, "")
        if name is None:
            # Reported once, with the jobs, however many logs it has.
            continue
        try:
            runs.append(_run(log, by_id.get(log.job), granted, name))
        except PenstockError as error:
            left_out.setdefault(str(error), []).append(log.path.name)
    for job in jobs:
        if names[job.id] is None:
            left_out.setdefault("no application matches", []).append(job.id)
        elif job.id not in programs:
            left_out.setdefault("no Darshan log", []).append(job.id)
    return Joined(tuple(runs), {why: tuple(some) for why, some in left_out.items()})


def _run(log: LoggedJob, job: TraceJob | None, granted: Mapping[str, int], application: str) -> FinishedRun:
    past = log.past
    if job is None:
        raise MissingError("no job in the accounting")
    count = past.osts or granted.get(job.id)
    if past.bytes_per_s is None:
        raise MissingError("no I/O in the log")
    if count is None:
        raise MissingError("the number of its resources is in neither log nor ledger")
    access = {None: "unknown", True: "shared", False: "file-per-process"}[past.shared]
    whole = f"{application} {job.nodes}x{past.processes}"
    # The log's I/O time is that of one program; everything else that the job did was no I/O.
    compute_s = max(job.elapsed_s - past.io_s, 0.0)
    return FinishedRun(whole, access, count, past.bytes_per_s, past.io_bytes, compute_s, job.nodes)


def _application(name: str, patterns: Sequence[str]) -> str | None:
    if not patterns:
        return name
    return next((pattern for pattern in patterns if fnmatchcase(name, pattern)), None)


def by_kind(runs: Sequence[FinishedRun]) -> Iterator[tuple[str, dict[str, list[FinishedRun]]]]:
    """The runs by kind, and within it by application. An application belongs to the kind of most of its runs."""
    applications: dict[str, list[FinishedRun]] = {}
    for run in runs:
        applications.setdefault(run.application, []).append(run)
    kinds: dict[str, dict[str, list[FinishedRun]]] = {}
    for name, own in applications.items():
        listed = [run.kind for run in own]
        kinds.setdefault(max(sorted(set(listed)), key=listed.count), {})[name] = own
    yield from sorted(kinds.items())
