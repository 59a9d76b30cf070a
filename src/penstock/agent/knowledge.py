"""What this node has measured, kept across restarts in the state directory.

Losing it costs only the time to measure again. So if the file is damaged, that is logged once, the file is put aside,
and the agent starts without it. A directory that cannot be written is also logged once.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from penstock.decide.memory import WorkMemory, like
from penstock.decide.memoryfile import MOST_BYTES, MOST_UNITS, DatedMemory, dump, parse, unit_fields
from penstock.errors import DataError

log = logging.getLogger(__name__)

FILE, ASIDE = "knowledge.json", "knowledge.rejected.json"
MODE = 0o600
SAVE_S = 300.0


class KnowledgeFile:
    """The memories of one node. A new version is written to a separate file, synced, and renamed."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE
        self._kept: list[DatedMemory] = []
        self._due_s: float | None = None
        self._complained = False

    def load(self) -> list[WorkMemory]:
        """The memories, oldest first, or none if the file is missing or cannot be trusted."""
        try:
            self._kept = parse(_read(self.path), str(self.path))
        except FileNotFoundError:
            pass
        except (OSError, DataError) as error:
            reason = error if isinstance(error, DataError) else f"{self.path}: {error.strerror}"
            log.warning("%s; what was measured before is not used", reason)
            self._put_aside()
        return [one.memory for one in self._kept]

    def text(self) -> str:
        """What was loaded, as the file holds it; empty where nothing was."""
        return dump(self._kept).decode() if self._kept else ""

    def loaded(self) -> Iterator[dict[str, Any]]:
        """What was loaded, as an event for the log, so that decisions based on it can be understood."""
        return (unit_fields(one.memory) for one in self._kept)

    def keep_when_due(self, remembered: Callable[[], Iterable[WorkMemory]], now_s: float) -> None:
        """Save the present memories every few minutes."""
        if self._due_s is None:
            self._due_s = now_s + SAVE_S
        elif now_s >= self._due_s:
            self._due_s = now_s + SAVE_S
            self.keep(remembered(), now_s)

    def keep(self, memories: Iterable[WorkMemory], now_s: float) -> None:
        """Save these memories and those of other work, unless nothing changed. The oldest are dropped."""
        kept = self._kept
        for memory in memories:
            old = like((one.memory for one in kept), memory.fs, memory.work, memory.targets)
            if any(one.settings == memory.settings for one in old):
                continue
            kept = [one for one in kept if one.memory not in old] + [DatedMemory(memory, now_s)]
        if kept is not self._kept:
            self._kept = kept[-MOST_UNITS:]
            self._write(dump(self._kept))

    def _write(self, data: bytes) -> None:
        fresh = self.path.with_name(self.path.name + ".new")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(fresh, flags, MODE), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self.path)
            self._complained = False
        except OSError as error:
            if not self._complained:
                log.warning("%s: %s; what is measured is lost at the next restart", self.path, error.strerror)
            self._complained = True

    def _put_aside(self) -> None:
        try:
            self.path.replace(self.path.with_name(ASIDE))
        except OSError as error:
            log.warning("%s: cannot be put aside: %s", self.path, error.strerror)


def _read(path: Path) -> bytes:
    """Read the file up to the size limit. Links and files that others could have written are refused."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if status.st_uid not in (os.geteuid(), 0) or status.st_mode & 0o022:
            raise DataError(f"{path}: others may write it, so it is not trusted (chown root, chmod 600)")
        return file.read(MOST_BYTES + 1)
