"""Starting MPI programs: finding the launcher, one launch for many tasks, failures in one line."""

from __future__ import annotations

import importlib.util
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import MissingError, PenstockError, UsageError

WORKER = "penstock.plan.collective.worker"
NEEDS = "pip install 'penstock[mpi]', or name your site's MPI with --launcher and install mpi4py for it"


@dataclass(frozen=True, slots=True)
class Launcher:
    """How this site starts MPI programs: a command in which `{ranks}` stands for their number."""

    command: tuple[str, ...]

    def argv(self, ranks: int) -> list[str]:
        """The command for that many ranks."""
        return [word.replace("{ranks}", str(ranks)) for word in self.command]


def find_launcher(command: str | None = None) -> Launcher:
    """The launcher given, or the mpiexec beside this Python, or the first on the path."""
    if command is not None:
        words = tuple(shlex.split(command))
        if not any("{ranks}" in word for word in words):
            raise UsageError(f"--launcher {command!r} has no {{ranks}}; say for example 'srun -n {{ranks}}'")
        if shutil.which(words[0]) is None:
            raise MissingError(f"--launcher: {words[0]}: no such program")
        return Launcher(words)
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise MissingError(f"MPI is absent: no mpiexec beside this Python nor on PATH; {NEEDS}")
    return Launcher((found, "-n", "{ranks}"))


def run_tasks(
    launcher: Launcher, ranks: int, tasks: Sequence[Mapping[str, Any]], timeout_s: float
) -> list[Any]:
    """Do all tasks in one launch and return their answers in order."""
    if importlib.util.find_spec("mpi4py") is None:
        raise MissingError(f"MPI is absent: mpi4py is not installed; {NEEDS}")
    with tempfile.TemporaryDirectory(prefix="penstock-mpi-") as home:
        asked, answered = Path(home, "tasks.json"), Path(home, "answers.json")
        asked.write_text(json.dumps(list(tasks)), encoding="utf-8")
        command = [*launcher.argv(ranks), sys.executable, "-m", WORKER, str(asked), str(answered)]
        _finish(command, ranks, timeout_s)
        if not answered.exists():
            raise PenstockError(f"{command[0]}: {ranks} ranks ended without an answer")
        answers: list[Any] = json.loads(answered.read_text(encoding="utf-8"))
    return answers


def _finish(command: Sequence[str], ranks: int, timeout_s: float) -> None:
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise PenstockError(f"{command[0]}: {ranks} ranks did not end within {timeout_s:.0f} s") from None
    except OSError as error:
        raise MissingError(f"MPI is absent: {command[0]}: {error.strerror}; {NEEDS}") from None
    if result.returncode:
        said = [line for line in (result.stderr or result.stdout).splitlines() if line.strip()]
        last = said[-1].strip() if said else "no message"
        raise PenstockError(f"{command[0]}: {ranks} ranks failed with exit code {result.returncode}: {last}")
