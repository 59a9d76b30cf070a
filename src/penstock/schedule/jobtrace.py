"""Finished jobs as a scheduler recorded them: when each started, for how long it ran, and on how many nodes.

Two formats are read: `sacct --parsable2`, and the Standard Workload Format (SWF).
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from penstock.errors import AccessError, DataError, MissingError
from penstock.schedule.queue import parse_elapsed

MOST_TRACE_BYTES = 1 << 30
SWF_FIELDS = 18
MOST_SWF_VALUE = 1e12
"""No time in seconds, number of processors or id is larger; `nan` and `inf` are not numbers either."""
PROGRAM_NOTE = re.compile(r"; Note: (exe[0-9]+) is (.+)")
"""How `schedule generate` names the executables of a trace, which the format numbers."""
SACCT_FIELDS = ("JobIDRaw", "JobName", "User", "NNodes", "Start", "Elapsed", "State", "Comment")
"""The columns to ask sacct for; --parsable2 --allocations leaves out steps."""


@dataclass(frozen=True, slots=True)
class TraceJob:
    """A job that has run. `start_s` is in seconds since any common moment."""

    id: str
    name: str
    nodes: int
    start_s: float
    elapsed_s: float
    user: str = ""
    comment: str = ""


@dataclass(frozen=True, slots=True)
class JobTrace:
    """The jobs of a trace in the order of their starts, and the number of those that never ran."""

    jobs: tuple[TraceJob, ...]
    never_ran: int

    @property
    def nodes(self) -> int:
        """The largest number of nodes in use at once."""
        changes = [(job.start_s, job.nodes) for job in self.jobs]
        changes += [(job.start_s + job.elapsed_s, -job.nodes) for job in self.jobs]
        most = now = 0
        for _, change in sorted(changes):
            now += change
            most = max(most, now)
        return most


def shown_name(text: str) -> str:
    """A name that users chose, safe to print: control characters as escapes.

    >>> shown_name("run\\x1b[2J 7")
    'run\\\\x1b[2J 7'
    """
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def load_trace(path: Path) -> JobTrace:
    """Read a trace of either format; every refusal names the file and the line."""
    return parse_trace(read_text(path), str(path))


def read_text(path: Path) -> str:
    """The text of an accounting file; bytes that are no text are kept as escapes, because users choose job names."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MOST_TRACE_BYTES + 1)
    except FileNotFoundError:
        raise MissingError(f"{path}: no such file") from None
    except PermissionError:
        raise AccessError(f"{path}: permission denied") from None
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
    if len(raw) > MOST_TRACE_BYTES:
        raise DataError(f"{path}: larger than {MOST_TRACE_BYTES} bytes")
    return raw.decode("utf-8", "backslashreplace")


def parse_trace(text: str, source: str) -> JobTrace:
    """Recognise the format by its first line: headings with `|`, or a comment with `;` or 18 numbers."""
    # Only newlines end a line: a job name may hold any other separator.
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    try:
        if "|" in first:
            found = list(_sacct(lines))
        elif first.startswith(";") or len(first.split()) == SWF_FIELDS:
            found = list(_swf(lines))
        else:
            raise DataError("neither sacct --parsable2 (headings with |) nor SWF (18 numbers a line)")
    except DataError as error:
        raise DataError(f"{source}: {error}") from None
    ran = sorted((job for job in found if job is not None), key=lambda job: job.start_s)
    return JobTrace(tuple(ran), len(found) - len(ran))


def _sacct(lines: Sequence[str]) -> Iterator[TraceJob | None]:
    headings: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        cells = line.rstrip("\r").split("|")
        if not headings:
            headings = {name.strip().lower(): index for index, name in enumerate(cells)}
            _check_headings(headings)
            continue
        job_id = _cell(cells, headings, "jobidraw", "jobid")
        if "." in job_id:
            # A step of a job. The job has a line of its own.
            continue
        try:
            yield _sacct_job(job_id, cells, headings)
        except ValueError as error:
            raise DataError(f"line {number}: {error}") from None


def _check_headings(headings: Mapping[str, int]) -> None:
    for names in (
        ("jobidraw", "jobid"),
        ("nnodes", "allocnodes"),
        ("start",),
        ("elapsed", "elapsedraw", "end"),
    ):
        if not any(name in headings for name in names):
            wanted = ",".join(SACCT_FIELDS)
            raise DataError(f"no column {names[0]!r}: use sacct --parsable2 --allocations --format={wanted}")


def _cell(cells: Sequence[str], headings: Mapping[str, int], *names: str) -> str:
    for name in names:
        if name in headings and headings[name] < len(cells):
            return cells[headings[name]]
    return ""


def _sacct_job(job_id: str, cells: Sequence[str], headings: Mapping[str, int]) -> TraceJob | None:
    start_s = parse_moment(_cell(cells, headings, "start"))
    elapsed_s = _elapsed(cells, headings, start_s)
    nodes = _cell(cells, headings, "nnodes", "allocnodes")
    if start_s is None or not elapsed_s:
        return None
    if not (nodes.isascii() and nodes.isdigit() and int(nodes)):
        raise ValueError(f"job {job_id!r}: {nodes!r} is not a number of nodes")
    return TraceJob(
        job_id,
        _cell(cells, headings, "jobname"),
        int(nodes),
        start_s,
        elapsed_s,
        _cell(cells, headings, "user", "uid"),
        _cell(cells, headings, "comment"),
    )


def _elapsed(cells: Sequence[str], headings: Mapping[str, int], start_s: float | None) -> float | None:
    raw = _cell(cells, headings, "elapsedraw")
    if raw.isascii() and raw.isdigit():
        return float(raw)
    if "elapsed" in headings:
        return parse_elapsed(_cell(cells, headings, "elapsed"))
    end_s = parse_moment(_cell(cells, headings, "end"))
    return None if end_s is None or start_s is None else max(end_s - start_s, 0.0)


def parse_moment(text: str) -> float | None:
    """Seconds of a time as sacct prints it, or with SLURM_TIME_FORMAT=%s; None for Unknown and the like.

    >>> parse_moment("1970-01-02T00:00:01"), parse_moment("86401"), parse_moment("Unknown")
    (86401.0, 86401.0, None)
    """
    if text.isascii() and text.isdigit():
        return float(text) or None
    try:
        return float(calendar.timegm(datetime.fromisoformat(text).timetuple()))
    except ValueError:
        return None


def _swf(lines: Sequence[str]) -> Iterator[TraceJob | None]:
    header: dict[str, str] = {}
    programs: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if line.startswith(";"):
            key, _, value = line.lstrip("; ").partition(":")
            header[key.strip()] = value.strip()
            if named := PROGRAM_NOTE.fullmatch(line.rstrip("\r")):
                programs[named[1]] = named[2]
        elif words:
            try:
                job = _swf_job(_swf_values(words), _processors_per_node(header))
            except ValueError as error:
                raise DataError(f"line {number}: not a line of SWF: {error}") from None
            yield job and replace(job, name=programs.get(job.name, job.name))


def _swf_values(words: Sequence[str]) -> list[float]:
    try:
        values = [float(word) for word in words]
    except ValueError:
        raise ValueError("a word is not a number") from None
    if len(values) < 5:
        raise ValueError("fewer than 5 numbers")
    if not all(abs(value) <= MOST_SWF_VALUE for value in values):
        raise ValueError(f"a number is not between -{MOST_SWF_VALUE:.0e} and {MOST_SWF_VALUE:.0e}")
    return values + [-1.0] * SWF_FIELDS


def _processors_per_node(header: Mapping[str, str]) -> float:
    try:
        ratio = float(header["MaxProcs"]) / float(header["MaxNodes"])
    except (KeyError, ValueError, ZeroDivisionError):
        return 1.0
    return ratio if 1.0 <= ratio <= MOST_SWF_VALUE else 1.0


def _swf_job(values: Sequence[float], per_node: float) -> TraceJob | None:
    """Fields by their place: number, submit, wait, run time, processors, ..., user (12), executable (14)."""
    processors = values[4] if values[4] > 0 else values[7]
    run_s = values[3]
    if not (run_s > 0 and processors > 0):
        return None
    start_s = values[1] + max(values[2], 0.0)
    name = f"exe{values[13]:.0f}" if values[13] > 0 else ""
    nodes = max(int(-(-processors // per_node)), 1)
    return TraceJob(f"{values[0]:.0f}", name, nodes, start_s, run_s, f"{values[11]:.0f}")
