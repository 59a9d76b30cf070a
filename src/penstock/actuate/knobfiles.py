"""The knob files of one target. One value is one write(2), and it is read back."""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from penstock.actuate.knob_errors import RefusedError, TargetGoneError, diagnose
from penstock.actuate.system import System
from penstock.errors import DataError
from penstock.knobs import Setting

DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
WRITE = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK
TEXT_BYTES = 1 << 14


class KnobFiles(ABC):
    """The files of one target, open for the duration of a `with` block."""

    name: str
    knob_ids: tuple[str, ...]
    system: System

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @abstractmethod
    def open_knob(self, knob_id: str, flags: int) -> tuple[str, int]:
        """The path of a knob's file and a descriptor of it. Raises `TargetGoneError` after an unmount."""

    @abstractmethod
    def command(self, knob_id: str, value: int) -> str:
        """The command that an administrator would type to set the knob, or an empty string if there is none."""

    def parsed(self, knob_id: str, text: bytes) -> int:
        """The knob's value from the first line of its file. Raises ValueError."""
        return int(text)

    def spelled(self, knob_id: str, value: int) -> bytes:
        """The text to write for a value."""
        return b"%d\n" % value

    def setting(self) -> Setting:
        """All knobs now. Raises `TargetGoneError` after an unmount, OSError or DataError otherwise."""
        return Setting({knob_id: self.read(knob_id)[0] for knob_id in self.knob_ids})

    def read(self, knob_id: str) -> tuple[int, bool]:
        """A knob's value, and whether its file contains nothing else.

        An ordinary file in place of a kernel file keeps the end of a longer value that was there before. Only its
        first line counts.
        """
        path, text = self.text(knob_id)
        first, newline, rest = text.partition(b"\n")
        try:
            return self.parsed(knob_id, first), bool(newline) and not rest
        except ValueError:
            raise DataError(f"/{path}: {text[:40]!r} is not a number") from None

    def write(self, knob_id: str, value: int) -> None:
        """Write one value. Raises `RefusedError` with the system's error."""
        data = self.spelled(knob_id, value)
        path = knob_id
        try:
            path, fd = self.open_knob(knob_id, WRITE)
            try:
                if self.system.write(fd, data) != len(data):
                    raise OSError(errno.EIO, "short write")
                if not self.read(knob_id)[1]:
                    self.system.truncate(fd, len(data))
            finally:
                self.system.close(fd)
        except OSError as error:
            raise RefusedError(knob_id, value, str(error.filename or f"/{path}"), error) from None

    def why_not_writable(self, knob_id: str) -> str | None:
        """Why a knob's file cannot be opened for writing, or None if it can. Nothing is written."""
        try:
            self.system.close(self.open_knob(knob_id, WRITE)[1])
        except OSError as error:
            return diagnose(error)
        return None

    def is_at(self, knob_id: str, value: int) -> bool:
        """Whether a knob has exactly this value. Raises `RefusedError` if it cannot be read."""
        try:
            return self.read(knob_id) == (value, True)
        except OSError as error:
            raise RefusedError(knob_id, value, str(error.filename or knob_id), error) from None

    def text(self, knob_id: str) -> tuple[str, bytes]:
        """The path of a knob's file and its text."""
        path, fd = self.open_knob(knob_id, READ)
        return path, self.read_open(fd)

    def read_open(self, fd: int) -> bytes:
        """The text of an open file, which is closed; a file of an unmounted target raises `TargetGoneError`."""
        try:
            return self.system.read(fd, TEXT_BYTES)
        except OSError as error:
            if error.errno == errno.ENODEV:
                raise TargetGoneError(f"{self.name} is gone (unmounted)") from None
            raise
        finally:
            self.system.close(fd)


def walk(system: System, root: str, relative: str) -> int:
    """Open a directory below the root without following any link."""
    fd = system.open(root, os.O_PATH | os.O_DIRECTORY)
    for part in relative.split("/"):
        try:
            below = system.open(part, DIRECTORY, 0, fd)
        finally:
            system.close(fd)
        fd = below
    return fd
