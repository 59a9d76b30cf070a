"""Who runs where, as jobs come and go: an append-only file that survives a crash at any byte."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from penstock.errors import AccessError, DataError, MissingError
from penstock.schedule.application import Curve
from penstock.schedule.job import Job


class Ledger:
    """Starts and ends, one JSON line each. A torn last line is a job that was never recorded."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._running: dict[str, Job] = {}
        for number, line in enumerate(self._lines()):
            try:
                self._apply(json.loads(line))
            except (ValueError, KeyError, TypeError, DataError) as error:
                raise DataError(f"{path}: line {number + 1} is not a ledger entry: {error}") from None

    @property
    def running(self) -> tuple[Job, ...]:
        """Jobs that started and have not ended, oldest first."""
        return tuple(self._running.values())

    def start(self, job: Job) -> None:
        """Record that `job` runs on its resources."""
        if job.name in self._running:
            raise DataError(f"{self._path}: job {job.name!r} is already running")
        self._write({"event": "start", "job": asdict(job)})

    def end(self, name: str) -> Job:
        """Record that the job ended; returns it."""
        if name not in self._running:
            known = ", ".join(sorted(self._running)) or "none"
            raise MissingError(f"{self._path}: job {name!r} is not running (running: {known})")
        job = self._running[name]
        self._write({"event": "end", "name": name})
        return job

    def _lines(self) -> list[str]:
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        except PermissionError:
            raise AccessError(f"{self._path}: permission denied") from None
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{self._path}: {error}") from None
        whole, _, _ = text.rpartition("\n")
        return whole.splitlines()

    def _apply(self, entry: dict[str, Any]) -> None:
        if entry["event"] == "end":
            self._running.pop(entry["name"], None)
            return
        fields = dict(entry["job"])
        curve = fields["curve"]
        if curve is not None:
            fields["curve"] = Curve(tuple(curve["counts"]), tuple(curve["bytes_per_s"]))
        fields["resources"] = tuple(fields["resources"])
        job = Job(**fields)
        self._running[job.name] = job

    def _write(self, entry: dict[str, Any]) -> None:
        line = json.dumps(entry).encode() + b"\n"
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o640)
        except FileNotFoundError:
            raise MissingError(f"{self._path}: no such directory") from None
        except PermissionError:
            raise AccessError(f"{self._path}: permission denied") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            end = _whole_end(handle)
            os.ftruncate(handle, end)
            os.pwrite(handle, line, end)
            os.fsync(handle)
        finally:
            os.close(handle)
        self._apply(entry)


def _whole_end(handle: int) -> int:
    """Where the last whole line ends: what a crash tore is written over."""
    size = os.fstat(handle).st_size
    return os.pread(handle, size, 0).rfind(b"\n") + 1
