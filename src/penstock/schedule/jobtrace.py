"""Finished jobs as a scheduler recorded them: when each started, for how long it ran, and on how many nodes.

Two formats are read: `sacct --parsable2`, and the Standard Workload Format (SWF).
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path

from penstock.errors import DataError
from penstock.input_files import read_bytes
from penstock.schedule.queue import HOLDING, parse_elapsed

MOST_TRACE_BYTES = 1 << 30
SWF_FIELDS = 18
MOST_SWF_VALUE = 1e12
"""No time in seconds, number of processors or id is larger; `nan` and `inf` are not numbers either."""
PROGRAM_NOTE = re.compile(r"; Note: (exe[0-9]+) is (.+)")
"""How `schedule generate` names the executables of a trace, which the format numbers."""
SACCT_FIELDS = ("JobIDRaw", "JobName", "User", "NNodes", "Start", "Elapsed", "State", "Comment")
"""The columns to ask sacct for; --parsable2 --allocations leaves out steps."""
LONG_ENDED = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL")
SHORT_ENDED = ("BF", "CA", "CD", "DL", "F", "NF", "OOM", "PR", "TO")
ENDED = frozenset((*LONG_ENDED, "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT", *SHORT_ENDED))
"""States of jobs that count. What a job moved until it ended was measured, however it ended."""
UNFINISHED = HOLDING | {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
NO_TIME = ("", "Unknown", "None", "N/A", "0")
"""What sacct prints as the start of a job that has none."""


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
class BadLines:
    """Lines that could not be used: why, how many, and the number of the first one."""

    reason: str
    lines: int
    first_line: int


@dataclass(frozen=True, slots=True)
class JobTrace:
    """The jobs of a trace that have ended, in the order of their starts, and what else was in it.

    `never_ran` counts jobs that ended without having run, `unfinished` by state those that have not ended.
    """

    jobs: tuple[TraceJob, ...]
    never_ran: int
    unfinished: Mapping[str, int] = field(default_factory=dict)
    bad: tuple[BadLines, ...] = ()

    def remarks(self) -> tuple[str, ...]:
        """What was left out, in words."""
        told = [f"not finished, {state}: {count}" for state, count in self.unfinished.items()]
        told += [f"bad lines, {one.reason}: {one.lines} (first: line {one.first_line})" for one in self.bad]
        return tuple(told)

    def left_out(self) -> dict[str, object]:
        """What was left out, for `--json`."""
        return {
            "never_ran": self.never_ran,
            "unfinished": dict(self.unfinished),
            "bad_lines": [asdict(one) for one in self.bad],
        }

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


@dataclass(frozen=True, slots=True)
class _Unfinished:
    """A job that has not ended."""

    state: str


@dataclass(frozen=True, slots=True)
class _Bad:
    """A line that cannot be used. Reasons are few: they name no value."""

    reason: str


Line = TraceJob | _Unfinished | _Bad | None
"""What a line of a trace holds; None is a job that ended without having run."""


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
    return read_bytes(path, MOST_TRACE_BYTES).decode("utf-8", "backslashreplace")


def parse_trace(text: str, source: str) -> JobTrace:
    """Recognise the format by its first line: headings with `|`, or a comment with `;` or 18 numbers.

    Lines that cannot be used are counted by reason. A trace of which no line can be used is refused.
    """
    # Only newlines end a line: a job name may hold any other separator.
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), None)
    try:
        if first is None:
            raise DataError("it is empty")
        if "|" in first and not first.startswith(";"):
            return _summed(_sacct(lines))
        if first.startswith(";") or len(first.split()) == SWF_FIELDS:
            return _summed(_swf(lines))
        raise DataError("neither sacct --parsable2 (headings with |) nor SWF (18 numbers a line)")
    except DataError as error:
        raise DataError(f"{source}: {error}") from None


def _summed(found: Iterator[tuple[int, Line]]) -> JobTrace:
    jobs, never_ran = [], 0
    unfinished: dict[str, int] = {}
    bad: dict[str, list[int]] = {}
    for number, line in found:
        if isinstance(line, TraceJob):
            jobs.append(line)
        elif isinstance(line, _Unfinished):
            unfinished[line.state] = unfinished.get(line.state, 0) + 1
        elif isinstance(line, _Bad):
            bad.setdefault(line.reason, []).append(number)
        else:
            never_ran += 1
    told = tuple(BadLines(reason, len(numbers), numbers[0]) for reason, numbers in bad.items())
    if not (jobs or never_ran or unfinished):
        why = f"line {told[0].first_line}: {told[0].reason}" if told else "it has no jobs"
        raise DataError(f"no line of it can be used: {why}")
    return JobTrace(tuple(sorted(jobs, key=lambda job: job.start_s)), never_ran, unfinished, told)


def _sacct(lines: Sequence[str]) -> Iterator[tuple[int, Line]]:
    headings: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        cells = line.rstrip("\r").split("|")
        if not headings:
            headings = {name.strip().lower(): index for index, name in enumerate(cells)}
            _check_headings(headings)
        elif "." not in _cell(cells, headings, "jobidraw", "jobid"):
            # Other lines are steps of a job, which has a line of its own.
            try:
                yield number, _sacct_job(cells, headings)
            except ValueError as error:
                yield number, _Bad(str(error))


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


def _sacct_job(cells: Sequence[str], headings: Mapping[str, int]) -> Line:
    if len(cells) <= max(headings.values()):
        raise ValueError("fewer cells than headings")
    state = _cell(cells, headings, "state").partition(" ")[0]
    if state in UNFINISHED:
        return _Unfinished(state)
    if state and state not in ENDED:
        raise ValueError("State is not known")
    start = _cell(cells, headings, "start")
    start_s = parse_moment(start)
    if start_s is None and start not in NO_TIME:
        raise ValueError("Start is not a time")
    elapsed_s = _elapsed(cells, headings, start_s)
    if start_s is not None and elapsed_s is None:
        raise ValueError("Elapsed is not a time")
    if start_s is None or not elapsed_s:
        return None
    nodes = _cell(cells, headings, "nnodes", "allocnodes")
    if not (nodes.isascii() and nodes.isdigit() and len(nodes) < 10 and int(nodes)):
        raise ValueError("NNodes is not a number of nodes")
    return TraceJob(
        _cell(cells, headings, "jobidraw", "jobid"),
        _cell(cells, headings, "jobname"),
        int(nodes),
        start_s,
        elapsed_s,
        _cell(cells, headings, "user", "uid"),
        _cell(cells, headings, "comment"),
    )


def _elapsed(cells: Sequence[str], headings: Mapping[str, int], start_s: float | None) -> float | None:
    raw = _cell(cells, headings, "elapsedraw")
    if raw.isascii() and raw.isdigit() and len(raw) < 13:
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
        return (float(text) or None) if len(text) < 13 else None
    try:
        return float(calendar.timegm(datetime.fromisoformat(text).timetuple()))
    except ValueError:
        return None


def _swf(lines: Sequence[str]) -> Iterator[tuple[int, Line]]:
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
                yield number, _Bad(f"not a line of SWF: {error}")
            else:
                yield number, job and replace(job, name=programs.get(job.name, job.name))


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
