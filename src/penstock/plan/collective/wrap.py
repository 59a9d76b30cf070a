"""Runs a user's MPI command with hints and checks whether they took effect.

A library echoes any hint it is given, so its output proves nothing. Instead the kernel's I/O counters of every local
rank are watched while the command runs: which ranks wrote, how often, and how much at a time.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import MissingError, PenstockError
from penstock.units import KIB, format_size

RANK_VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
SHARED_MEMORY = "/dev/shm/"
MPI_SEGMENTS = tuple(
    SHARED_MEMORY + name for name in ("mpich", "ucx", "vader", "psm", "sm_segment", "openmpi", "pmix")
)
POLL_S = 0.01
LEAST_BYTES = 256 * KIB
WRITER_SHARE = 0.02
SLACK = 1.02


@dataclass(frozen=True, slots=True)
class RankWrites:
    """One local rank's writing since it started."""

    rank: int
    calls: int
    written_bytes: int


@dataclass(frozen=True, slots=True)
class WrappedRun:
    """The result of a wrapped command. `verified` is None if it could not be checked."""

    exit_code: int
    seconds: float
    ranks: tuple[RankWrites, ...]
    verified: bool | None
    verdict: str


def run(
    command: Sequence[str], environment: Mapping[str, str], hints: Mapping[str, str], quiet: bool
) -> WrappedRun:
    """Run the command with the environment added and watch its ranks; `quiet` sends its output to stderr."""
    started = time.monotonic()
    try:
        child = subprocess.Popen(
            list(command), env={**os.environ, **environment}, stdout=2 if quiet else None
        )
    except FileNotFoundError:
        raise MissingError(f"{command[0]}: no such program") from None
    except OSError as error:
        raise PenstockError(f"{command[0]}: {error.strerror}") from None
    seen: dict[int, _Account] = {}
    try:
        while child.poll() is None:
            _watch(child.pid, seen)
            time.sleep(POLL_S)
    except BaseException:
        child.terminate()
        child.wait()
        raise
    ranks = tuple(sorted((account.writes for account in seen.values()), key=lambda one: one.rank))
    verified, verdict = judge(ranks, hints)
    return WrappedRun(child.returncode, time.monotonic() - started, ranks, verified, verdict)


@dataclass(slots=True)
class _Account:
    """The I/O counters of a rank: the latest values, and those before the rank opened a file of its job."""

    rank: int
    before: tuple[int, int] = (0, 0)
    latest: tuple[int, int] = (0, 0)
    opened: bool = False

    @property
    def writes(self) -> RankWrites:
        """The writes since then. Starting MPI writes to shared memory, which is not output."""
        return RankWrites(self.rank, self.latest[0] - self.before[0], self.latest[1] - self.before[1])


def _watch(parent: int, seen: dict[int, _Account], proc: Path = Path("/proc")) -> None:
    """Note the present account of every rank below a process."""
    for pid in descendants(parent, proc):
        home = proc / str(pid)
        try:
            if pid not in seen:
                rank = parse_rank((home / "environ").read_bytes())
                if rank is None:
                    continue
                seen[pid] = _Account(rank)
            account = seen[pid]
            # The counters are read before the list of files, so that writes to a file opened in between are counted.
            now = parse_io((home / "io").read_text(encoding="ascii"))
            account.opened = account.opened or writes_a_file(home)
            account.latest = now
            if not account.opened:
                account.before = now
        except (OSError, ValueError):
            continue  # it ended meanwhile; what was seen of it stands


def writes_a_file(home: Path) -> bool:
    """Whether a process holds an ordinary file open for writing, its standard streams aside."""
    for entry in (home / "fd").iterdir():
        target = str(entry.readlink())
        if int(entry.name) <= 2 or not may_be_output(target):
            continue
        info = (home / "fdinfo" / entry.name).read_text(encoding="ascii")
        flags = next((line.split()[1] for line in info.splitlines() if line.startswith("flags:")), "0")
        if int(flags, 8) & os.O_ACCMODE != os.O_RDONLY:
            return True
    return False


def may_be_output(target: str) -> bool:
    """Whether an open file's path can be a job's output: no device, no segment of an MPI library.

    >>> [may_be_output(path) for path in ("/dev/null", "/dev/shm/mpich_shm_1", "/dev/shm/out", "/data/out")]
    [False, False, True, True]
    """
    if target.startswith(SHARED_MEMORY):
        return not (target.endswith("(deleted)") or target.startswith(MPI_SEGMENTS))
    return target.startswith("/") and not target.startswith("/dev/")


def descendants(parent: int, proc: Path) -> list[int]:
    """All processes below one, by the kernel's list of children."""
    found: list[int] = []
    waiting = [parent]
    while waiting:
        pid = waiting.pop()
        try:
            text = (proc / str(pid) / "task" / str(pid) / "children").read_text(encoding="ascii")
        except OSError:
            continue
        children = [int(word) for word in text.split()]
        found += children
        waiting += children
    return found


def parse_rank(environ: bytes) -> int | None:
    """The MPI rank a process was started as, or None.

    >>> parse_rank(b"HOME=/root\\0PMI_RANK=3\\0")
    3
    """
    variables = dict(entry.split(b"=", 1) for entry in environ.split(b"\0") if b"=" in entry)
    for name in RANK_VARIABLES:
        value = variables.get(name.encode(), b"")
        if value.isdigit() and len(value) < 19:
            return int(value)
    return None


def parse_io(text: str) -> tuple[int, int]:
    """Calls of write and bytes written, from the text of a process's `io` file."""
    fields = dict(line.split(": ") for line in text.splitlines() if ": " in line)
    return int(fields.get("syscw", 0)), int(fields.get("wchar", 0))


def judge(ranks: Sequence[RankWrites], hints: Mapping[str, str]) -> tuple[bool | None, str]:
    """Whether the ranks' writing is what the hints ask for; None when it cannot be told."""
    total = sum(rank.written_bytes for rank in ranks)
    if not ranks:
        return None, "no MPI rank was seen on this host: ranks run elsewhere, or the command is not MPI"
    if total < LEAST_BYTES:
        return None, f"ranks were seen to write {format_size(total)} only: too little, or too fast, to tell"
    writers = [rank for rank in ranks if rank.written_bytes >= WRITER_SHARE * total]
    found = f"{len(writers)} of {len(ranks)} local ranks wrote {format_size(total)}"
    if hints.get("romio_cb_write") == "disable" or "cb_nodes" not in hints:
        return None, f"{found}; these hints leave no mark that a host can see"
    wanted = min(int(hints["cb_nodes"]), len(ranks))
    largest = max(rank.written_bytes / max(1, rank.calls) for rank in writers)
    objection = _objection(len(writers), wanted, (largest, total), int(hints.get("cb_buffer_size", 0)))
    if objection:
        return False, found + objection
    return True, f"{found} in calls of up to {format_size(largest)} on average, as cb_nodes={wanted} asks"


def _objection(writers: int, wanted: int, sizes: tuple[float, int], buffer_bytes: int) -> str:
    """What speaks against the hints being in effect, or nothing."""
    largest, total = sizes
    if writers > wanted:
        return f", but cb_nodes={wanted}: the program does not write collectively, or ignores hints"
    if buffer_bytes and largest > SLACK * buffer_bytes:
        return f" in calls of {format_size(largest)}, more than cb_buffer_size={buffer_bytes}"
    if writers < wanted and wanted * max(buffer_bytes, 1) <= total:
        return f", fewer than cb_nodes={wanted}: check cb_config_list"
    return ""
