"""Reads Darshan logs in a separate process, because the C library below pydarshan crashes on some damaged logs."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from penstock.errors import DataError, require_extra, unreadable

READER = "penstock.observe.darshan_reader"
TIMEOUT_S = 600.0
MAGIC = 6567223
# These formats begin alike: version, magic number, flags, then where the names and each module's records are.
MAPPED_VERSIONS = (b"3.00", b"3.10", b"3.20", b"3.21")
MAPS_AT, REGIONS = 24, 17
HEADER_BYTES = MAPS_AT + 16 * REGIONS
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
    try:
        with path.open("rb") as file:
            header = file.read(HEADER_BYTES)
            size = file.seek(0, os.SEEK_END)
    except OSError as error:
        raise unreadable(path, error) from None
    order = next((order for order in ENDIANS if int.from_bytes(header[8:16], order) == MAGIC), None)
    if order is None:
        raise DataError(f"{path}: not a Darshan log")
    if size < (whole := _whole_bytes(header, order)):
        raise DataError(f"{path}: truncated Darshan log: {size} of {whole} bytes; copy it again")
    if importlib.util.find_spec("darshan") is None:
        raise require_extra("darshan", ImportError(name="darshan"))


def _whole_bytes(header: bytes, order: Literal["little", "big"]) -> int:
    """Where the last region ends that the header names; 0 for a format whose header is not known here."""
    if header[:8].rstrip(b"\0") not in MAPPED_VERSIONS:
        return 0
    if len(header) < HEADER_BYTES:
        return HEADER_BYTES
    places = [int.from_bytes(header[at : at + 8], order) for at in range(MAPS_AT, MAPS_AT + 16 * REGIONS, 8)]
    # Each region is named by its offset and its length.
    return max(offset + length for offset, length in zip(places[::2], places[1::2], strict=True) if length)


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
        raise DataError(
            f"{path}: damaged or truncated Darshan log (its reader ended with {result.returncode})"
        )
    return result.stdout


def _parse(path: Path, text: str) -> RawLog:
    try:
        return RawLog(name=path.name, **json.loads(text))
    except (ValueError, TypeError) as error:
        raise DataError(f"{path}: damaged Darshan log ({error})") from None
