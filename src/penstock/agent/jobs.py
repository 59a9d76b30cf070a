"""The jobs on this node, as marked by the batch system's prolog and epilog, or as the client itself names them.

The hooks write one small file per mark, `ID.begin` or `ID.end`, into a directory that only root may write. They never
talk to the agent, so the agent cannot delay a job. The first line of a mark names the user; the second is `off` if
the job asked to be left alone. The agent reads marks at its own pace. It keeps `ID.running` until the job ends, so
that a restarted agent knows the running jobs.

A client that says whose its requests are (`jobid_var` = `nodelocal`) makes a job known without any hook. It begins
when it is first seen and ends when another is seen, or none. That does not end a job that has marks.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from penstock.events import JobEvent

DIRECTORY = "jobs"
MOST_RUNNING = 512
MOST_MARKS = 64
MOST_BYTES = 512
LOOK_EVERY_S = 1.0
_NAME = re.compile(r"([0-9A-Za-z][0-9A-Za-z_+-]{0,63})\.(begin|end|running)")
_USER = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_.@-]{0,63}")


@dataclass(frozen=True, slots=True)
class JobMark:
    """A job began or ended on this node, at this wall-clock time."""

    job: str
    what: str
    user: str
    time_s: float
    #: Whether the job asked to be left alone.
    hands_off: bool = False

    def event(self) -> JobEvent:
        """The mark as an event of the decision log."""
        about = {"job": self.job, "what": self.what, "user": self.user}
        return JobEvent(time_s=self.time_s, **about, hands_off=self.hands_off)


@dataclass(slots=True)
class JobBook:
    """Reads marks from a directory. An error there can lose marks, but never stops the agent."""

    directory: Path
    trusted_uids: frozenset[int] = field(default_factory=lambda: frozenset({0, os.geteuid()}))
    #: The job that the client names now, if any.
    node_job: Callable[[], str | None] = lambda: None
    marks: int = 0
    _named: str | None = None
    _running: dict[str, float] = field(default_factory=dict)
    _named_since_s: float = 0.0
    _hands_off: set[str] = field(default_factory=set)
    _stuck: set[str] = field(default_factory=set)
    _next_look_s: float = float("-inf")

    def open(self, boot_s: float) -> None:
        """Create the directory and read which jobs were running. After a reboot none is."""
        with contextlib.suppress(OSError):
            self.directory.mkdir(mode=0o700, exist_ok=True)
        for name in self._names():
            mark = self._read(name) if name.endswith(".running") else None
            if mark is None:
                continue
            if mark.time_s < boot_s:
                self._remove(name)
            else:
                self._begin(mark)

    @property
    def hands_off(self) -> tuple[str, ...]:
        """The running jobs that asked to be left alone."""
        return tuple(sorted(set(self._hands_off)))

    @property
    def running(self) -> tuple[str, ...]:
        """The jobs that run now, longest first."""
        known = dict(self._running)
        named = self._named
        if named is not None:
            known.setdefault(named, self._named_since_s)
        return tuple(sorted(known, key=lambda job: (known[job], job)))

    def take_when_due(self, now_s: float) -> tuple[JobMark, ...]:
        """Like `take`, at most once a second, because prologs are rarer than ticks."""
        if now_s < self._next_look_s:
            return ()
        self._next_look_s = now_s + LOOK_EVERY_S
        return (*self.take(), *self._take_named(time.time()))

    def _take_named(self, time_s: float) -> tuple[JobMark, ...]:
        """The client names another job than before, or none any more."""
        job, before = self.node_job(), self._named
        if job == before:
            return ()
        self._named, self._named_since_s = job, time_s
        changed = ((before, "end"), (job, "begin"))
        taken = tuple(
            JobMark(name, what, "", time_s)
            for name, what in changed
            if name is not None and name not in self._running
        )
        self.marks += len(taken)
        return taken

    def take(self) -> tuple[JobMark, ...]:
        """The marks since the last call, in the order of their times. An end comes after its begin."""
        names = [name for name in self._names() if not name.endswith(".running") and name not in self._stuck]
        found = [(name, mark) for name in names[:MOST_MARKS] if (mark := self._read(name)) is not None]
        found.sort(key=lambda pair: (pair[1].time_s, pair[1].what))
        taken = []
        for name, mark in found:
            if self._note(name, mark):
                taken.append(mark)
        self.marks += len(taken)
        return tuple(taken)

    def _note(self, name: str, mark: JobMark) -> bool:
        if mark.what == "begin":
            if len(self._running) >= MOST_RUNNING:
                self._remove(name)
                return False
            self._begin(mark)
            self._move(name, f"{mark.job}.running")
        else:
            self._running.pop(mark.job, None)
            self._hands_off.discard(mark.job)
            self._remove(name)
            with contextlib.suppress(OSError):
                (self.directory / f"{mark.job}.running").unlink(missing_ok=True)
        return True

    def _begin(self, mark: JobMark) -> None:
        self._running[mark.job] = mark.time_s
        if mark.hands_off:
            self._hands_off.add(mark.job)

    def _names(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self.directory) if _NAME.fullmatch(name))  # noqa: PTH208
        except OSError:
            return []

    def _read(self, name: str) -> JobMark | None:
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        try:
            descriptor = os.open(self.directory / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode) or status.st_uid not in self.trusted_uids:
                    self._stuck.add(name)
                    return None
                text = os.read(descriptor, MOST_BYTES).decode("ascii", "replace").strip()
            finally:
                os.close(descriptor)
        except OSError:
            self._stuck.add(name)
            return None
        user, _, wish = text.partition("\n")
        return JobMark(
            match[1], match[2], user if _USER.fullmatch(user) else "", status.st_mtime, wish == "off"
        )

    def _move(self, name: str, to: str) -> None:
        self._or_leave(name, lambda path: path.replace(self.directory / to))

    def _remove(self, name: str) -> None:
        self._or_leave(name, Path.unlink)

    def _or_leave(self, name: str, change: Callable[[Path], object]) -> None:
        """Remember a mark that cannot be removed, so that it is read only once."""
        try:
            change(self.directory / name)
        except OSError:
            self._stuck.add(name)


def boot_time_s() -> float:
    """The wall-clock time of the last boot, or 0 if it is unknown."""
    try:
        up_s = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0.0
    return time.time() - up_s
