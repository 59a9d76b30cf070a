"""The lock of a state directory: only one process at a time may change its knobs."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.actuate.system import SYSTEM, System
from penstock.errors import PenstockError

FILE = "lock"


class BusyError(PenstockError):
    """Another process holds the state directory."""


class StateLock:
    """Held until `release` or until the process ends. The file contains the holder's pid."""

    def __init__(self, directory: str | Path, system: System = SYSTEM) -> None:
        path = f"{directory}/{FILE}"
        self._system = system
        self._fd = system.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            if not system.lock(self._fd):
                pid = holder(directory)
                raise BusyError(f"{directory}: in use by process {pid or '?'}; stop it first")
            system.truncate(self._fd, 0)
            system.write(self._fd, b"%d\n" % os.getpid())
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        self._system.close(self._fd)


def holder(directory: str | Path, system: System = SYSTEM) -> int | None:
    """The pid of the process that holds the lock, or None."""
    try:
        fd = system.open(f"{directory}/{FILE}", os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if system.lock(fd):
            return None
        text = system.read(fd, 32).strip()
        return int(text) if text.isdigit() else 0
    finally:
        system.close(fd)
