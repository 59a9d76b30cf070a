"""The ledger: which jobs run on which resources. One file and one lock; it survives a crash at any byte.

The file has one JSON line for each start, each end, and each completed undo after an end. A last line without a
newline does not count. Whoever reads, decides and writes holds the lock file beside the ledger for the whole time.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from penstock.errors import AccessError, DataError, MissingError, PenstockError, unreadable
from penstock.schedule.application import Curve
from penstock.schedule.job import Job

WAIT_S = 60.0
POLL_S = 0.02
MOST_DEAD_LINES = 2000
"""With more lines than this that say nothing about a running job, the file is written anew."""
TAIL_BYTES = 1 << 16
MOST_HISTORY_BYTES = 32 << 20
"""The past jobs of at most two files of this size are kept: some 50,000 jobs each."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A job on its resources: since when, the answer it was given (as JSON text), and when it ended."""

    job: Job
    started_s: float
    answer: str
    ended_s: float | None = None


class Ledger:
    """The ledger at `path`. The file need not exist."""

    def __init__(self, path: Path, wait_s: float = WAIT_S) -> None:
        self.path = path
        self._lock_path = path.with_name(path.name + ".lock")
        self._wait_s = wait_s

    def read(self) -> LedgerContent:
        """The present content. Nothing is changed."""
        with self._lock(fcntl.LOCK_SH, os.O_RDONLY):
            return LedgerContent(self.path)

    def mentions(self, directory: str) -> bool:
        """Whether any entry, also of a job that ended, may be about the directory. It takes no lock and is cheap."""
        try:
            return json.dumps(directory).encode() in self.path.read_bytes()
        except OSError:
            # Whoever reads the ledger next says what is wrong with it.
            return True

    def history(self, since_s: float = 0.0) -> tuple[Grant, ...]:
        """Jobs that ended at `since_s` or later, and those that run, the first started first."""
        with self._lock(fcntl.LOCK_SH, os.O_RDONLY):
            content = LedgerContent(self.path)
            kept = history_path(self.path)
            old = [one for path in (_older(kept), kept) for one in _read_history(path)]
        # A crash while lines were moved can leave a job in both files.
        found = {(one.job.name, one.started_s): one for one in (*old, *content.past, *content.grants)}
        wanted = (one for one in found.values() if one.ended_s is None or one.ended_s >= since_s)
        return tuple(sorted(wanted, key=lambda one: one.started_s))

    @contextlib.contextmanager
    def locked(self) -> Iterator[LedgerContent]:
        """The ledger for reading and writing. It is locked until the block ends."""
        with self._lock(fcntl.LOCK_EX, os.O_RDWR | os.O_CREAT):
            yield LedgerContent(self.path)

    @contextlib.contextmanager
    def _lock(self, kind: int, flags: int) -> Iterator[None]:
        try:
            handle = os.open(self._lock_path, flags | os.O_CLOEXEC, 0o640)
        except FileNotFoundError:
            if flags & os.O_CREAT:
                raise MissingError(f"{self.path}: no such directory") from None
            # Nothing was written yet, so there is nothing to lock.
            yield
            return
        except OSError as error:
            raise AccessError(f"{self._lock_path}: {error.strerror}") from None
        try:
            self._wait(handle, kind)
            yield
        finally:
            os.close(handle)

    def _wait(self, handle: int, kind: int) -> None:
        deadline_s = time.monotonic() + self._wait_s
        while True:
            try:
                fcntl.flock(handle, kind | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline_s:
                    raise PenstockError(
                        f"{self.path}: another process has held {self._lock_path} for {self._wait_s:g} s"
                    ) from None
            time.sleep(POLL_S)


class LedgerContent:
    """The content of the ledger. Only a holder of the lock (`Ledger.locked`) may call `start` and `end`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._grants: dict[str, Grant] = {}
        self._left: list[Grant] = []
        self.past: list[Grant] = []
        """Jobs that ended, as far as the file still tells; older ones are in the history file."""
        self._lines = 0
        for line in _whole_lines(path):
            self._lines += 1
            try:
                self._apply(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError, DataError) as error:
                raise DataError(f"{path}: line {self._lines} is not a ledger entry: {error}") from None

    @property
    def grants(self) -> tuple[Grant, ...]:
        """Jobs that started and have not ended, oldest first."""
        return tuple(self._grants.values())

    @property
    def running(self) -> tuple[Job, ...]:
        """The jobs of all grants."""
        return tuple(grant.job for grant in self._grants.values())

    @property
    def left(self) -> tuple[Grant, ...]:
        """Jobs that ended and whose directory or pool was not restored yet, oldest first."""
        return tuple(self._left)

    def holders(self, directory: str | None) -> tuple[Grant, ...]:
        """Jobs that may have set the directory's present layout: they changed it and still run or did not restore it.

        Oldest first.
        """
        if directory is None:
            return ()
        known = (*self._left, *self._grants.values())
        return tuple(one for one in known if one.job.applied and one.job.directory == directory)

    def find(self, name: str) -> Grant | None:
        """The grant of the job called `name`, if it runs."""
        return self._grants.get(name)

    def start(self, grant: Grant) -> None:
        """Record that a job runs on its resources; it is on disk when this returns."""
        if grant.job.name in self._grants:
            raise DataError(f"{self._path}: job {grant.job.name!r} is already running")
        self._write(_start(grant))

    def end(self, name: str) -> Grant:
        """Record that the job ended; returns what it had."""
        if name not in self._grants:
            known = ", ".join(sorted(self._grants)) or "none"
            raise MissingError(f"{self._path}: job {name!r} is not running (running: {known})")
        grant = self._grants[name]
        self._write({"event": "end", "name": name, "ended_s": time.time()})
        return grant

    def unapplied(self, name: str) -> None:
        """Record that the start of a running job changed nothing, so that its end has nothing to undo."""
        self._write({"event": "unapplied", "name": name})

    def undone(self, grant: Grant) -> None:
        """Record that everything of an ended job was restored."""
        self._write({"event": "undone", "name": grant.job.name, "started_s": grant.started_s})

    def _apply(self, entry: dict[str, Any]) -> None:
        event, name = entry["event"], entry.get("name")
        if event == "start":
            grant = _grant(entry)
            self._grants[grant.job.name] = grant
        elif event == "end":
            ended = self._grants.pop(entry["name"], None)
            if ended is not None:
                self.past.append(replace(ended, ended_s=entry.get("ended_s")))
            if ended is not None and ended.job.applied is not None:
                self._left.append(replace(ended, ended_s=entry.get("ended_s")))
        elif event == "unapplied" and name in self._grants:
            running = self._grants[entry["name"]]
            self._grants[entry["name"]] = replace(running, job=replace(running.job, applied=None))
        elif event == "undone":
            done = (name, entry["started_s"])
            self._left = [one for one in self._left if (one.job.name, one.started_s) != done]

    def _write(self, entry: dict[str, Any]) -> None:
        try:
            if self._lines - len(self._grants) - 2 * len(self._left) > MOST_DEAD_LINES:
                self._rewrite()
            _append(self._path, _line(entry))
        except PermissionError:
            raise AccessError(f"{self._path}: permission denied") from None
        except OSError as error:
            raise PenstockError(f"{self._path}: {error.strerror}; nothing was recorded") from None
        self._lines += 1
        self._apply(entry)

    def _rewrite(self) -> None:
        """Keep only jobs that run or are not restored yet. The new file replaces the old one atomically.

        The others go to the history file first.
        """
        with contextlib.suppress(OSError):
            # Without its history the ledger still does its work.
            _keep_history(history_path(self._path), self._finished())
        entries: list[dict[str, Any]] = []
        for grant in self._left:
            entries += [_start(grant), {"event": "end", "name": grant.job.name, "ended_s": grant.ended_s}]
        entries += [_start(grant) for grant in self.grants]
        fresh = self._path.with_name(self._path.name + ".new")
        fresh.unlink(missing_ok=True)
        _append(fresh, b"".join(map(_line, entries)))
        fresh.replace(self._path)
        _sync_directory(self._path)
        self._lines = len(entries)
        self.past = list(self._left)

    def _finished(self) -> list[Grant]:
        """Past jobs of which nothing is left to restore."""
        kept = {(one.job.name, one.started_s) for one in self._left}
        return [one for one in self.past if (one.job.name, one.started_s) not in kept]


def history_path(path: Path) -> Path:
    """The file beside a ledger that holds its past jobs."""
    return path.with_name(path.name + ".history")


def _older(history: Path) -> Path:
    return history.with_name(history.name + ".old")


def _keep_history(history: Path, grants: Iterable[Grant]) -> None:
    """Append past jobs. A file that has become too long becomes the older one, which is forgotten."""
    if history.exists() and history.stat().st_size > MOST_HISTORY_BYTES:
        history.replace(_older(history))
    _append(
        history, b"".join(_line({**asdict(replace(grant, answer="")), "event": "past"}) for grant in grants)
    )


def _read_history(history: Path) -> Iterator[Grant]:
    for number, line in enumerate(_whole_lines(history), 1):
        try:
            entry = json.loads(line)
            yield replace(_grant(entry), ended_s=entry["ended_s"])
        except (ValueError, KeyError, TypeError, DataError) as error:
            raise DataError(f"{history}: line {number} is not a past job: {error}") from None


def _start(grant: Grant) -> dict[str, Any]:
    plain = asdict(grant)
    del plain["ended_s"]
    return {"event": "start", **plain}


def _grant(entry: dict[str, Any]) -> Grant:
    fields = dict(entry["job"])
    curve = fields["curve"]
    if curve is not None:
        fields["curve"] = Curve(tuple(curve["counts"]), tuple(curve["bytes_per_s"]))
    fields["resources"] = tuple(fields["resources"])
    # Nobody else needs the estimated curve of a running job.
    fields["belief"] = None
    return Grant(Job(**fields), float(entry["started_s"]), str(entry["answer"]))


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry).encode() + b"\n"


def _whole_lines(path: Path) -> list[str]:
    try:
        raw = path.read_bytes()
        return raw.decode("utf-8").split("\n")[:-1]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not a ledger: byte {error.start} is not UTF-8") from None


def _append(path: Path, lines: bytes) -> None:
    """Append complete lines after the last complete line. A line torn by a crash is overwritten."""
    created = not path.exists()
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
    try:
        end = _whole_end(handle)
        os.ftruncate(handle, end)
        try:
            _write_all(handle, lines, end)
            os.fsync(handle)
        except OSError:
            # A complete line whose writing was reported as failed must not count later.
            os.ftruncate(handle, end)
            raise
    finally:
        os.close(handle)
    if created:
        _sync_directory(path)


def _write_all(handle: int, data: bytes, offset: int) -> None:
    while data:
        written = os.pwrite(handle, data, offset)
        data, offset = data[written:], offset + written


def _whole_end(handle: int) -> int:
    """Where the last complete line ends. A ledger is long, so it is searched from its end."""
    start = os.fstat(handle).st_size
    while start > 0:
        width = min(start, TAIL_BYTES)
        start -= width
        if (found := os.pread(handle, width, start).rfind(b"\n")) >= 0:
            return start + found + 1
    return 0


def _sync_directory(path: Path) -> None:
    directory = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
