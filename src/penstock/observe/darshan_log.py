"""Reads Darshan logs in a separate process, because the C library below pydarshan crashes on some damaged logs."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from penstock.errors import AccessError, DataError, MissingError, require_extra

READER = "penstock.observe.darshan_reader"
TIMEOUT_S = 600.0
MAGIC = 6567223
ENDIANS: tuple[Literal["little", "big"], ...] = ("little", "big")

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class RawLog:
    """The records of a log as plain rows, one per file and rank (rank -1: all ranks).

    `names` maps a file's id (as text) to its path. `layers` are all modules in the log. `hints` are the MPI-IO hints
    that it names. `job` is the scheduler's id of the job.
    """

    name: str
    program: str
    ranks: int
    run_s: float
    modules: Mapping[str, Rows]
    striping: Rows
    names: Mapping[str, str] = field(default_factory=dict)
    layers: Sequence[str] = ()
    hints: Mapping[str, str] = field(default_factory=dict)
    job: str = ""


def read_log(path: Path) -> RawLog:
    """Read a log with pydarshan, in a separate process and from a copy.

    The C library ends the process on some damaged logs, and may delete the file it had open.
    """
    _check(path)
    return _parse(path, _read_apart(path))


def read_dxt(path: Path) -> Rows:
    """The requests that a log traced (DXT), read in the same safe way: file, host, rank, op, offset, bytes, start_s,
    end_s.
    """
    _check(path)
    try:
        found: Rows = json.loads(_read_apart(path, "--dxt"))
    except ValueError as error:
        raise DataError(f"{path}: damaged Darshan log ({error})") from None
    return found


def read_heatmap(path: Path) -> Rows:
    """Bytes moved per interval by all ranks, where a log counted them: op, start_s, end_s, bytes."""
    _check(path)
    try:
        found: Rows = json.loads(_read_apart(path, "--heatmap"))
    except ValueError as error:
        raise DataError(f"{path}: damaged Darshan log ({error})") from None
    return found


def _check(path: Path) -> None:
    if not path.exists():
        raise MissingError(f"{path}: no such file")
    try:
        with path.open("rb") as file:
            header = file.read(16)
    except PermissionError:
        raise AccessError(f"{path}: permission denied") from None
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
    if MAGIC not in {int.from_bytes(header[8:], order) for order in ENDIANS}:
        raise DataError(f"{path}: not a Darshan log")
    if importlib.util.find_spec("darshan") is None:
        raise require_extra("darshan", ImportError(name="darshan"))


def _read_apart(path: Path, *options: str) -> str:
    with tempfile.TemporaryDirectory(prefix="penstock-darshan-") as home:
        copy = Path(home, "copy.darshan")
        shutil.copyfile(path, copy)
        command = [sys.executable, "-m", READER, str(copy), *options]
        try:
            # The reader of a damaged log may print any bytes.
            result = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise DataError(f"{path}: reading it took more than {TIMEOUT_S:.0f} s") from None
    if result.returncode:
        raise DataError(f"{path}: damaged Darshan log (its reader ended with {result.returncode})")
    return result.stdout


def _parse(path: Path, text: str) -> RawLog:
    try:
        return RawLog(name=path.name, **json.loads(text))
    except (ValueError, TypeError) as error:
        raise DataError(f"{path}: damaged Darshan log ({error})") from None
