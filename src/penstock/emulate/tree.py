"""The files of a served client as a tree: paths, modes, and what reading and writing each of them does."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.emulate.stores import parse_plain, refuse
from penstock.emulate.treelayout import DEBUGFS, SYSFS

Reader = Callable[[], str]
Writer = Callable[[str], None]


@dataclass(slots=True)
class File:
    """One file. It outlives its name: a descriptor that is still open sees `gone`."""

    path: str
    mode: int
    read: Reader | None
    write: Writer | None
    gone: bool = False

    @property
    def size(self) -> int:
        """What stat says: a page in sysfs, nothing elsewhere."""
        return 4096 if self.path.startswith(SYSFS) else 0

    def text(self) -> str:
        """Its text now. Raises OSError with the kernel's errno."""
        self._check()
        if self.read is None:
            raise refuse(errno.EIO)
        return self.read()

    def store(self, text: str) -> None:
        """Take a text. Raises OSError with the kernel's errno."""
        self._check()
        if self.write is None:
            raise refuse(errno.EACCES)
        self.write(text)

    def _check(self) -> None:
        if self.gone:
            raise refuse(errno.ENODEV if self.path.startswith(SYSFS) else errno.EIO)


@dataclass(slots=True)
class Tree:
    """All files by path, and the names in every directory."""

    files: dict[str, File] = field(default_factory=dict)
    directories: dict[str, set[str]] = field(default_factory=lambda: {"": set()})

    def add(self, file: File) -> None:
        """A new file, with whatever directories lead to it."""
        self.files[file.path] = file
        self._name(file.path)

    def add_directory(self, path: str) -> None:
        if path not in self.directories:
            self.directories[path] = set()
            self._name(path)

    def remove(self, path: str) -> None:
        """A whole directory goes; what is open keeps its descriptor and learns that it is gone."""
        for name in sorted(self.directories.pop(path, ())):
            below = f"{path}/{name}"
            if below in self.directories:
                self.remove(below)
            else:
                self.files.pop(below).gone = True
        parent, _, name = path.rpartition("/")
        self.directories.get(parent, set()).discard(name)

    def directory_mode(self, path: str) -> int:
        """0700 for debugfs, which is root's alone; else what the recorded trees had."""
        if path == DEBUGFS.rpartition("/")[0]:
            return 0o700
        return 0o555 if path.startswith("proc") else 0o755

    def _name(self, path: str) -> None:
        while path:
            parent, _, name = path.rpartition("/")
            known = parent in self.directories
            self.directories.setdefault(parent, set()).add(name)
            if known:
                return
            path = parent


@dataclass(slots=True)
class Stored:
    """A file that nothing is simulated behind: it keeps what is written if that looks like what it had."""

    value: str

    def read(self) -> str:
        return self.value

    def write(self, text: str) -> None:
        """Numbers replace numbers, words replace words."""
        if self.value.strip().lstrip("-").isdigit():
            self.value = f"{parse_plain(text)}\n"
        else:
            self.value = text if text.endswith("\n") else f"{text}\n"
