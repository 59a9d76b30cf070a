"""Every system call that changes a knob or stores its original, one method each.

Journal and actuator use the operating system through one `System`. So a test can end the process after any single
call and check that nothing is lost.
"""

# These are the calls themselves, one to one:
# ruff: noqa: PTH102, PTH105, PTH108

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence


class System:
    """The operating system as it is."""

    def open(self, path: str, flags: int, mode: int = 0o600, dir_fd: int | None = None) -> int:
        """Open a file. Children do not inherit the descriptor."""
        return os.open(path, flags | os.O_CLOEXEC, mode, dir_fd=dir_fd)

    def close(self, fd: int) -> None:
        os.close(fd)

    def read(self, fd: int, size: int) -> bytes:
        """Up to that many bytes."""
        return os.read(fd, size)

    def write(self, fd: int, data: bytes) -> int:
        """One write(2). Returns the number of bytes written."""
        return os.write(fd, data)

    def truncate(self, fd: int, size: int) -> None:
        """Cut an open file."""
        os.ftruncate(fd, size)

    def fsync(self, fd: int) -> None:
        """Return when the file, or the directory, is on disk."""
        os.fsync(fd)

    def fstat(self, fd: int) -> os.stat_result:
        """Type, owner and mode of an open file."""
        return os.fstat(fd)

    def rename(self, old: str, new: str) -> None:
        """Replace a file atomically."""
        os.replace(old, new)

    def link(self, old: str, new: str) -> None:
        """A second name for a file."""
        os.link(old, new)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def mkdir(self, path: str) -> None:
        """A private directory."""
        os.mkdir(path, 0o700)

    def names(self, fd: int) -> Sequence[str]:
        """The entries of an open directory, sorted."""
        return sorted(os.listdir(fd))

    def lock(self, fd: int) -> bool:
        """Lock a file for this process until it ends. Returns false if another process has it."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


SYSTEM = System()
