"""System calls on a served client in this process, which ends at any call that a test chooses."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from typing import Any

from penstock.actuate.system import System
from penstock.emulate.served_node import ServedNode
from penstock.emulate.tree import File


class KilledError(BaseException):
    """The process is gone: nothing it does afterwards happens."""


class TreeSystem(System):
    """System calls answered by a served node in this process, and by the real system for the journal."""

    def __init__(self, node: ServedNode, root: str, calls: int = 10**9) -> None:
        self._node, self._root, self._left = node, root, calls
        self._open: dict[int, str | File] = {}
        self._next = 1 << 24

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name != "close":
            self._left -= 1
            if self._left < 0:
                raise KilledError
        return super().__getattribute__(name)

    def open(self, path: str, flags: int, mode: int = 0o600, dir_fd: int | None = None) -> int:
        if dir_fd is None and path != self._root:
            return super().open(path, flags, mode)
        base = "" if dir_fd is None else self._open[dir_fd]
        found = base if path in (".", self._root) else f"{base}/{path}".strip("/")
        assert isinstance(found, str)
        tree = self._node.tree
        if found not in tree.directories and found not in tree.files:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        self._next += 1
        self._open[self._next] = found if found in tree.directories else tree.files[found]
        return self._next

    def close(self, fd: int) -> None:
        if self._open.pop(fd, None) is None:
            super().close(fd)

    def read(self, fd: int, size: int) -> bytes:
        file = self._open.get(fd)
        return file.text().encode() if isinstance(file, File) else super().read(fd, size)

    def write(self, fd: int, data: bytes) -> int:
        file = self._open.get(fd)
        if not isinstance(file, File):
            return super().write(fd, data)
        file.store(data.decode())
        return len(data)

    def fsync(self, fd: int) -> None:
        """Disks are not what is tested here."""

    def fstat(self, fd: int) -> os.stat_result:
        if isinstance(self._open.get(fd), File):
            return os.stat_result((stat.S_IFREG, *[0] * 9))
        return super().fstat(fd)

    def names(self, fd: int) -> Sequence[str]:
        directory = self._open[fd]
        assert isinstance(directory, str)
        return sorted(self._node.tree.directories[directory])
