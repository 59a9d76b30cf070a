"""The knob files of one Lustre directory: a data path, a connection to a metadata server, or a mount.

Only the files that a kind of target lists are ever opened for writing, and only below a directory whose name is one
of that kind. No symbolic link is followed on the way. One value is one write(2): pwrite fails on 2.15's procfs, and
several parameters in one write hide which of them failed.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from penstock.actuate.knob_errors import GONE, TargetGoneError
from penstock.actuate.knobfiles import DIRECTORY, KnobFiles, walk
from penstock.actuate.system import System
from penstock.errors import DataError
from penstock.observe.lustre.layout import PLACES


class LustrePlaces:
    """The directories of one kind (`osc`, `mdc`, `llite`) below a root. Each is opened once, without following any
    link. Entries whose names do not match the pattern are none.
    """

    def __init__(self, system: System, root: str, kind: str, pattern: re.Pattern[str]) -> None:
        self.system = system
        self.kind = kind
        self._root = root
        self._pattern = pattern
        self._fds: dict[str, int] = {}

    def names(self) -> tuple[str, ...]:
        """The names of all directories there are now."""
        found = self._try_names()
        if not found and self._fds:
            self.close()
            found = self._try_names()
        return tuple(sorted(found))

    def open(self, name: str) -> list[tuple[str, int]]:
        """The directories of one name and their paths; none if it is gone."""
        found = self._try_open(name)
        if not found and self._fds:
            # The module may have been loaded again since, with new directories.
            self.close()
            found = self._try_open(name)
        return found

    def close(self) -> None:
        """Close the directories. The next use opens them again."""
        while self._fds:
            self.system.close(self._fds.popitem()[1])

    def __del__(self) -> None:
        self.close()

    def _try_names(self) -> set[str]:
        found: set[str] = set()
        for place in PLACES:
            try:
                fd = self.system.open(".", os.O_RDONLY | os.O_DIRECTORY, 0, self._place(place))
            except OSError:
                continue
            try:
                found.update(name for name in self.system.names(fd) if self._pattern.fullmatch(name))
            finally:
                self.system.close(fd)
        return found

    def _try_open(self, name: str) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        for place in PLACES:
            try:
                found.append(
                    (f"{place}/{self.kind}/{name}", self.system.open(name, DIRECTORY, 0, self._place(place)))
                )
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTCONN, errno.EIO):
                    for _, fd in found:
                        self.system.close(fd)
                    raise
        return found

    def _place(self, place: str) -> int:
        if place not in self._fds:
            self._fds[place] = walk(self.system, self._root, f"{place}/{self.kind}")
        return self._fds[place]


class LustreFiles(KnobFiles):
    """One directory, in all its places. They are open for the duration of a `with` block."""

    def __init__(self, places: LustrePlaces, name: str, directory: str, files: Mapping[str, str]) -> None:
        self.name = name
        self.system = places.system
        self.knob_ids = tuple(files)
        self._files = files
        self._directory = directory
        self._all = places
        self._places: list[tuple[str, int]] = []

    def __enter__(self) -> Self:
        self._places = self._all.open(self._directory)
        if not self._places:
            raise TargetGoneError(f"{self.name} is gone (unmounted?)")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._places:
            self.system.close(self._places.pop()[1])

    def open_knob(self, knob_id: str, flags: int) -> tuple[str, int]:
        """Where a knob's file is, and a descriptor of it."""
        return self.open_file(self._files[knob_id], flags)

    def command(self, knob_id: str, value: int) -> str:
        """One `lctl` line: lctl hides the failure of all but its last parameter, so each knob gets its own."""
        return f"lctl set_param {self._all.kind}.{self._directory}.{self._files[knob_id]}={value}"

    def open_file(self, file: str, flags: int) -> tuple[str, int]:
        """Where a file is, and a descriptor of it. Raises `TargetGoneError` if it is in no place."""
        for place, directory in self._places:
            path = f"{place}/{file}"
            try:
                fd = self.system.open(file, flags, 0, directory)
            except OSError as error:
                if error.errno in GONE:
                    continue
                raise OSError(error.errno, error.strerror, f"/{path}") from None
            if stat.S_ISREG(self.system.fstat(fd).st_mode):
                return path, fd
            self.system.close(fd)
            raise DataError(f"/{path}: not a regular file")
        raise TargetGoneError(f"{self.name}: {file} is gone (unmounted)")
