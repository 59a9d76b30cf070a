"""Follows a decision log while an agent writes it: first the whole log, then what was added."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from penstock.agent.log import Settler
from penstock.agent.rotated_file import older_parts
from penstock.errors import AccessError, PenstockError
from penstock.events import DecisionEvent, LogEvent

MOST_ROTATED = 5


class LogTail:
    """Reads up to the last complete line and continues there on the next call. Rotation of the log loses nothing.

    `readable` is false while permission to read the log is missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.readable = True
        self._settler = Settler()
        self._inode: int | None = None
        self._offset = 0

    def read(self) -> list[LogEvent]:
        """The events since the last call."""
        try:
            found = [event for raw in self._new() for event in self._settler.take(raw)]
        except (AccessError, PermissionError):
            self.readable = False
            return []
        except FileNotFoundError:
            return []
        except OSError as error:
            raise PenstockError(f"{self.path}: {error.strerror}") from None
        self.readable = True
        return found

    def unsettled(self) -> list[DecisionEvent]:
        """The decisions whose outcome is not in the log yet."""
        return list(self._settler.rest())

    def _new(self) -> Iterator[bytes]:
        # The newest file is opened first. If it is renamed after that, the handle still refers to it.
        with self.path.open("rb") as newest:
            if self._inode is None:
                yield from older_parts(self.path)
            elif os.fstat(newest.fileno()).st_ino != self._inode:
                yield from self._rotated()
            yield self._rest_of(newest)

    def _rotated(self) -> Iterator[bytes]:
        """The rest of the file that was followed before it was renamed, and the files that came after it."""
        parts: list[Path] = []
        for number in range(1, MOST_ROTATED + 1):
            part = self.path.with_name(f"{self.path.name}.{number}")
            if not part.exists():
                break
            parts.append(part)
            if part.stat().st_ino == self._inode:
                break
        for part in reversed(parts):
            with part.open("rb") as file:
                yield self._rest_of(file)

    def _rest_of(self, file: IO[bytes]) -> bytes:
        """The complete lines after the point where the last call stopped in this file."""
        inode = os.fstat(file.fileno()).st_ino
        if inode != self._inode:
            self._inode, self._offset = inode, 0
        file.seek(self._offset)
        raw = file.read()
        whole = raw[: raw.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole
