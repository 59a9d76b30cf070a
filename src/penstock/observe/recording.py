"""Recordings: one JSON object per line, `{"t": seconds, "files": {"PATH": "raw text", ...}}`.

A recording has the kernel's own texts, not our interpretation. So a user can send one with a bug report, and a better
parser can read it again. Every file of a rotated recording is complete in itself: it begins with the last probe of
the file before.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from penstock.errors import AccessError, DataError, MissingError, PenstockError, refusal
from penstock.output_files import is_no_file
from penstock.units import MIB

ROTATE_BYTES = 64 * MIB
KEPT_FILES = 4
# What the files of 10,000 targets come to. A line that is longer, unpacked or not, is not a probe.
MOST_LINE_BYTES = 128 * MIB


@dataclass(frozen=True, slots=True)
class RecordedProbe:
    """Raw texts by path at one instant of the monotonic clock."""

    t_s: float
    files: Mapping[str, str]


class RecordingWriter:
    """Appends probes to a file. A full file becomes FILE.1, the one before FILE.2, and the oldest is deleted."""

    def __init__(self, path: Path, rotate_bytes: int = ROTATE_BYTES, kept_files: int = KEPT_FILES) -> None:
        self.path = path
        self._rotate_bytes = rotate_bytes
        self._kept_files = kept_files
        self._last_line = ""
        self._file = self._open("a")

    def write(self, probe: RecordedProbe) -> None:
        """Append one probe and flush it."""
        line = json.dumps({"t": probe.t_s, "wall": time.time(), "files": dict(probe.files)}) + "\n"
        try:
            if self._file.tell() + len(line) > self._rotate_bytes and self._file.tell() > 0:
                self._rotate()
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            raise PenstockError(f"{self.path}: {error.strerror}") from None
        self._last_line = line

    def close(self) -> None:
        self._file.close()

    def _rotate(self) -> None:
        self._file.close()
        for number in range(self._kept_files - 1, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.replace(self._numbered(number + 1))
        self.path.replace(self._numbered(1))
        self._numbered(self._kept_files + 1).unlink(missing_ok=True)
        self._file = self._open("w")
        self._file.write(self._last_line)

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def _open(self, mode: str) -> IO[str]:
        try:
            links = 0 if is_no_file(self.path) else os.O_NOFOLLOW
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | links
            descriptor = os.open(self.path, flags | (os.O_APPEND if mode == "a" else os.O_TRUNC), 0o666)
            return open(descriptor, mode, encoding="ascii")  # noqa: PTH123 - a descriptor, not a path
        except OSError as error:
            raise refusal(self.path, error) from None


def read_recording(path: Path) -> Iterator[RecordedProbe]:
    """The probes of one file, in order. A `.gz` file is decompressed.

    An incomplete last line, as a killed recorder leaves it, is skipped. Any other line that is not a probe raises
    `DataError` with its number. Unknown keys and files without text are ignored.
    """
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            lines = iter(partial(stream.readline, MOST_LINE_BYTES + 1), b"")
            for number, line in enumerate(lines, 1):
                if len(line) > MOST_LINE_BYTES:
                    raise DataError(f"{path}:{number}: longer than {MOST_LINE_BYTES} bytes: not a probe")
                if not line.strip():
                    continue
                try:
                    yield parse_probe(line)
                except DataError as error:
                    if not line.endswith(b"\n"):
                        return
                    raise DataError(f"{path}:{number}: {error}") from None
    except FileNotFoundError:
        raise MissingError(f"{path}: no such file") from None
    except PermissionError:
        raise AccessError(f"{path}: permission denied") from None
    except (EOFError, zlib.error):
        return
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None


def parse_probe(line: bytes) -> RecordedProbe:
    """One line of a recording. Raises `DataError`."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError("not a JSON object on a line of its own") from None
    if not isinstance(document, dict):
        raise DataError("not a JSON object")
    t_s, files = document.get("t"), document.get("files")
    if isinstance(t_s, bool) or not isinstance(t_s, int | float) or not math.isfinite(t_s):
        raise DataError(f'"t" must be a number of seconds, got {json.dumps(t_s)[:40]}')
    if not isinstance(files, dict):
        raise DataError('"files" must map paths to texts')
    return RecordedProbe(t_s, {path: text for path, text in files.items() if isinstance(text, str)})
