"""Starts MPI programs: finds the launcher, runs many tasks in one launch, and reports failures in one line."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import MissingError, PenstockError, UsageError, did_you_mean

SHARED_MEMORY = Path("/dev/shm")
SEGMENT_BYTES = 16 << 20
WORKER = "penstock.plan.collective.worker"
THREAD_LEVELS = ("single", "funneled", "serialized", "multiple")
NEEDS = (
    "pip install 'penstock[mpi]' (in a checkout pip install '.[mpi]'), "
    "or name your site's MPI with --launcher and install mpi4py for it"
)


@dataclass(frozen=True, slots=True)
class Launcher:
    """The command that starts MPI programs at this site; `{ranks}` stands for the number of ranks.

    `thread_level` is the level that the job requests from MPI. Plain MPI_Init is `single`.
    """

    command: tuple[str, ...]
    thread_level: str = "single"

    @property
    def text(self) -> str:
        """The command as a user would type it, the program's own directory left out."""
        return shlex.join([Path(self.command[0]).name, *self.command[1:]])

    def argv(self, ranks: int) -> list[str]:
        """The command for that many ranks."""
        return [word.replace("{ranks}", str(ranks)) for word in self.command]


def find_launcher(command: str | None = None, thread_level: str = "single") -> Launcher:
    """The launcher given, or the mpiexec beside this Python, or the first on the path."""
    if thread_level not in THREAD_LEVELS:
        raise UsageError(
            f"--thread-level {thread_level!r} is not one of {', '.join(THREAD_LEVELS)}"
            f"{did_you_mean(thread_level, THREAD_LEVELS)}"
        )
    if command is not None:
        words = tuple(shlex.split(command))
        if not any("{ranks}" in word for word in words):
            raise UsageError(f"--launcher {command!r} has no {{ranks}}; say for example 'srun -n {{ranks}}'")
        if shutil.which(words[0]) is None:
            raise MissingError(f"--launcher: {words[0]}: no such program")
        return Launcher(words, thread_level)
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise MissingError(f"MPI is absent: no mpiexec beside this Python nor on PATH; {NEEDS}")
    return Launcher((found, "-n", "{ranks}"), thread_level)


def run_tasks(
    launcher: Launcher, ranks: int, tasks: Sequence[Mapping[str, Any]], timeout_s: float
) -> list[Any]:
    """Do all tasks in one launch and return their answers in order."""
    if importlib.util.find_spec("mpi4py") is None:
        raise MissingError(f"MPI is absent: mpi4py is not installed; {NEEDS}")
    with tempfile.TemporaryDirectory(prefix="penstock-mpi-") as home:
        asked, answered = Path(home, "tasks.json"), Path(home, "answers.json")
        asked.write_text(json.dumps(list(tasks)), encoding="utf-8")
        command = [*launcher.argv(ranks), sys.executable, "-m", WORKER]
        command += [str(asked), str(answered), launcher.thread_level]
        _finish(command, ranks, timeout_s, _memory(ranks, home))
        if not answered.exists():
            raise PenstockError(f"{command[0]}: {ranks} ranks ended without an answer")
        answers: list[Any] = json.loads(answered.read_text(encoding="utf-8"))
    return answers


def _finish(command: Sequence[str], ranks: int, timeout_s: float, environment: Mapping[str, str]) -> None:
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    except OSError as error:
        raise MissingError(f"MPI is absent: {command[0]}: {error.strerror}; {NEEDS}") from None
    try:
        with _sigterm_raises():
            said_out, said_err = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _stop(child)
        raise PenstockError(f"{command[0]}: {ranks} ranks did not end within {timeout_s:.0f} s") from None
    except BaseException:
        _stop(child)
        raise
    if child.returncode:
        said = [line for line in (said_err or said_out).splitlines() if line.strip()]
        last = said[-1].strip() if said else "no message"
        raise PenstockError(f"{command[0]}: {ranks} ranks failed with exit code {child.returncode}: {last}")


@contextlib.contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Turn SIGTERM into an exception, so that no ranks are left behind. Only the main thread may do that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(child: subprocess.Popen[str]) -> None:
    """End the launcher with a signal that it can pass on. Ranks left behind would spin forever."""
    for number, patience_s in ((signal.SIGTERM, 5.0), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        try:
            child.communicate(timeout=patience_s)
            return
        except subprocess.TimeoutExpired:
            continue


def _memory(ranks: int, home: str) -> dict[str, str]:
    """Put the transport's segments on disk if shared memory is scarce, as in containers."""
    if SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free < ranks * SEGMENT_BYTES:
        return {"UCX_POSIX_DIR": home}
    return {}
