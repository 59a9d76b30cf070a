"""Lists of jobs from the scheduler: squeue and sacct as JSON or text, or a plain list of ids."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import DataError, MissingError, PenstockError
from penstock.input_files import read_text

#: States in which a job has its nodes, and so may still do I/O.
HOLDING = frozenset(
    ("RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING")
)
SHORT_STATES = {
    "R": "RUNNING",
    "CF": "CONFIGURING",
    "CG": "COMPLETING",
    "S": "SUSPENDED",
    "ST": "STOPPED",
    "SI": "SIGNALING",
    "SO": "STAGE_OUT",
    "RS": "RESIZING",
    "PD": "PENDING",
}
MOST_LIST_BYTES = 256 << 20
SQUEUE_TEXT = ("squeue", "--noheader", "--array", "--states=all", "--format=%A|%T|%D|%u|%M|%j")
TIMEOUT_S = 30.0
COLUMNS = {
    "jobid": "id",
    "jobidraw": "raw",
    "jobname": "name",
    "name": "name",
    "state": "state",
    "st": "state",
    "nnodes": "nodes",
    "allocnodes": "nodes",
    "nodes": "nodes",
    "user": "user",
    "elapsed": "elapsed",
    "time": "elapsed",
}


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job as the scheduler lists it. None means that the list does not say."""

    id: str
    name: str = ""
    state: str = "RUNNING"
    nodes: int | None = None
    user: str = ""
    elapsed_s: float | None = None

    @property
    def holds_resources(self) -> bool:
        """Whether the job has its nodes. Pending and finished jobs do no I/O."""
        return self.state in HOLDING


def ask_slurm() -> tuple[QueuedJob, ...]:
    """Every job Slurm knows now. Raises if Slurm does not answer, so that this is not mistaken for an empty list."""
    command = ("squeue", "--json")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode or not done.stdout.lstrip().startswith("{"):
            # This squeue was built without the JSON serializer.
            done = subprocess.run(SQUEUE_TEXT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except FileNotFoundError:
        raise MissingError("squeue: not found; --jobs FILE names a list of the jobs that run") from None
    except subprocess.TimeoutExpired:
        raise PenstockError(f"squeue: no answer within {TIMEOUT_S:g} s") from None
    if done.returncode:
        raise PenstockError(f"squeue: {' '.join(done.stderr.split()) or f'exit {done.returncode}'}")
    return parse_jobs(done.stdout, "squeue")


def load_jobs(path: Path) -> tuple[QueuedJob, ...]:
    """Read a list of jobs from a file, or from standard input where `path` is `-`."""
    source = Path("/dev/stdin") if str(path) == "-" else path
    return parse_jobs(read_text(source, MOST_LIST_BYTES), str(path))


def parse_jobs(text: str, source: str) -> tuple[QueuedJob, ...]:
    """Recognise the format and read it: JSON of squeue or sacct, a table with headings, or ids one a line."""
    stripped = text.lstrip()
    try:
        if stripped.startswith("{"):
            document = json.loads(text)
            if document.get("errors"):
                # Without its controller, squeue --json reports that here, lists no job, and exits 0.
                raise PenstockError(f"{source}: {document['errors'][0].get('description', 'error')}")
            return tuple(_from_json(job) for job in document["jobs"])
        lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        if not lines:
            return ()
        headings = _cells(lines[0])
        if headings[0].lower() in ("jobid", "jobidraw"):
            return _from_table([name.lower() for name in headings], lines[1:])
        if lines[0].count("|") == 5:
            return tuple(_from_squeue(line) for line in lines)
        return tuple(QueuedJob(line.split()[0]) for line in lines)
    except DataError as error:
        raise DataError(f"{source}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{source}: not a list of jobs: {error!r}") from None


def _cells(line: str) -> list[str]:
    return line.rstrip("\n").split("|") if "|" in line else line.split()


def _from_json(job: Mapping[str, Any]) -> QueuedJob:
    state = job.get("job_state", job.get("state", "RUNNING"))
    if isinstance(state, Mapping):
        state = state["current"]
    if isinstance(state, list):
        # Newer releases list a base state and flags: a job that is COMPLETED and COMPLETING still has its nodes.
        state = next((one for one in state if one in HOLDING), state[0])
    elapsed = job["time"].get("elapsed") if isinstance(job.get("time"), Mapping) else None
    return QueuedJob(
        id=str(job["job_id"]),
        name=str(job.get("name", "")),
        state=str(state),
        nodes=_count(job.get("node_count", job.get("allocation_nodes"))),
        user=str(job.get("user_name", job.get("user", ""))),
        elapsed_s=None if elapsed is None else float(elapsed),
    )


def _count(value: object) -> int | None:
    """Newer releases wrap numbers: {"set": true, "infinite": false, "number": 4}."""
    if isinstance(value, Mapping):
        value = value.get("number") if value.get("set", True) else None
    return value if isinstance(value, int) else None


def _from_squeue(line: str) -> QueuedJob:
    job_id, state, nodes, user, elapsed, name = line.split("|", 5)
    return QueuedJob(job_id, name, state, int(nodes), user, parse_elapsed(elapsed))


def _from_table(headings: Sequence[str], lines: Sequence[str]) -> tuple[QueuedJob, ...]:
    found = []
    for line in lines:
        cells = {COLUMNS.get(name, name): cell for name, cell in zip(headings, _cells(line), strict=False)}
        job_id = cells.get("raw") or cells["id"]
        if "." in job_id:
            # A step of a job, as sacct lists them.
            continue
        state = cells.get("state", "RUNNING").split(" ")[0]
        state = SHORT_STATES.get(state, state)
        if not job_id.isdigit() and state in HOLDING:
            # Hooks know the tasks of an array by their own ids. Taken as a name, this one would seem to have ended.
            raise DataError(
                f"{job_id} is part of an array or of several jobs: list JobIDRaw, or use squeue --json"
            )
        found.append(
            QueuedJob(
                id=job_id,
                name=cells.get("name", ""),
                state=state,
                nodes=int(cells["nodes"]) if cells.get("nodes") else None,
                user=cells.get("user", ""),
                elapsed_s=parse_elapsed(cells["elapsed"]) if cells.get("elapsed") else None,
            )
        )
    return tuple(found)


def parse_elapsed(text: str) -> float | None:
    """Seconds of Slurm's [days-][hours:]minutes:seconds; None for INVALID and the like.

    >>> [parse_elapsed(one) for one in ("05:09", "1:00:00", "2-03:00:00", "INVALID")]
    [309.0, 3600.0, 183600.0, None]
    """
    days, _, clock = text.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdigit() and len(part) < 9 for part in (*parts, days or "0")) or len(parts) not in (
        2,
        3,
    ):
        return None
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + int(part)
    return float(seconds + 86400 * int(days or 0))
