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
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import MissingError, PenstockError, UsageError, did_you_mean, how_to_install
from penstock.plan.scratch import scratch

SHARED_MEMORY = Path("/dev/shm")
SEGMENT_BYTES = 16 << 20
WORKER = "penstock.plan.collective.worker"
# How often the ranks' progress is looked at.
LOOK_S = 5.0
Progress = Callable[[str], object]
THREAD_LEVELS = ("single", "funneled", "serialized", "multiple")


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
        raise _absent("no mpiexec beside this Python nor on PATH")
    return Launcher((found, "-n", "{ranks}"), thread_level)


def _absent(what: str) -> MissingError:
    return MissingError(
        f"MPI is absent: {what}; {how_to_install('mpi')}; or name your site's MPI with --launcher, with mpi4py built "
        "for it"
    )


def run_tasks(
    launcher: Launcher,
    ranks: int,
    tasks: Sequence[Mapping[str, Any]],
    timeout_s: float,
    progress: Progress = bool,
) -> list[Any]:
    """Do all tasks in one launch and return their answers in order.

    `progress` is told how far the ranks are, at most every `LOOK_S` seconds.
    """
    if importlib.util.find_spec("mpi4py") is None:
        raise _absent("mpi4py is not installed")
    with scratch("penstock-mpi-", left_behind=progress) as home:
        launch = _Launch(launcher.argv(ranks), ranks, home)
        launch.tasks.write_text(json.dumps(list(tasks)), encoding="utf-8")
        words = [str(launch.tasks), str(launch.answers), launcher.thread_level]
        launch.run([sys.executable, "-m", WORKER, *words], timeout_s, progress)
        if not launch.answers.exists():
            raise PenstockError(f"{launch.name}: {ranks} ranks ended without an answer")
        answers: list[Any] = json.loads(launch.answers.read_text(encoding="utf-8"))
    return answers


@dataclass(frozen=True, slots=True)
class _Launch:
    """One start of the worker on all ranks, and the files it talks through."""

    start: list[str]
    ranks: int
    home: Path

    @property
    def name(self) -> str:
        return self.start[0]

    @property
    def tasks(self) -> Path:
        return self.home / "tasks.json"

    @property
    def answers(self) -> Path:
        return self.home / "answers.json"

    def run(self, program: Sequence[str], timeout_s: float, progress: Progress) -> None:
        """Start the program and wait for its end; ranks never outlive this call."""
        with _sigterm_raises() as from_now_on:
            child = self._started(program)
            try:
                from_now_on()
                said = self._wait(child, timeout_s, progress)
            except BaseException:
                _stop(child)
                raise
        if child.returncode:
            failed = f"{self.name}: {self.ranks} ranks failed with exit code {child.returncode}"
            raise PenstockError(f"{failed}: {self._told('error') or _last_line(said)}")

    def _started(self, program: Sequence[str]) -> subprocess.Popen[str]:
        try:
            return subprocess.Popen(
                [*self.start, *program],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, **_memory(self.ranks, str(self.home))},
                start_new_session=True,
            )
        except OSError as error:
            raise _absent(f"{self.name}: {error.strerror}") from None

    def _wait(self, child: subprocess.Popen[str], timeout_s: float, progress: Progress) -> str:
        """What the child printed; its progress is passed on when it has changed."""
        deadline, told = time.monotonic() + timeout_s, ""
        while True:
            left_s = deadline - time.monotonic()
            try:
                out, err = child.communicate(timeout=max(0.0, min(LOOK_S, left_s)))
                return err or out
            except subprocess.TimeoutExpired:
                if left_s <= LOOK_S:
                    raise PenstockError(
                        f"{self.name}: {self.ranks} ranks did not end within {timeout_s:.0f} s"
                    ) from None
            if (now := self._told("progress")) != told:
                progress(f"{self.ranks} ranks: {now}")
                told = now

    def _told(self, about: str) -> str:
        """What rank 0 left about its `progress`, or a rank about its `error`; empty if nothing."""
        path = self.answers.with_suffix(f".{about}")
        return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def _last_line(text: str) -> str:
    said = [line for line in text.splitlines() if line.strip()]
    return said[-1].strip() if said else "no message"


@contextlib.contextmanager
def _sigterm_raises() -> Iterator[Callable[[], None]]:
    """Turn SIGTERM into an exception, so that no ranks are left behind. Only the main thread may do that.

    It is raised once the function that this gives is called: earlier, nobody knows yet whom to end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    came: list[int] = []
    raising = threading.Event()

    def end() -> None:
        if came and raising.is_set():
            sys.exit(128 + came[0])

    def handle(number: int, _: object) -> None:
        came.append(number)
        end()

    def from_now_on() -> None:
        raising.set()
        end()

    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield from_now_on
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
