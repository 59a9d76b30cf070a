"""Reads all mounts of one kind of file system in passes. A mount that blocks does not delay the others."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.errors import PenstockError
from penstock.observe.deadline import Deadline
from penstock.observe.kept_files import unread
from penstock.observe.kernelfs import KernelFs
from penstock.snapshot import NOTHING, NodeSnapshot, Problem, TargetSnapshot

RESCAN_S = 5.0


@dataclass(frozen=True, slots=True)
class Reading:
    """One target at one moment, and the application counters of its mount."""

    snapshot: TargetSnapshot
    asked: Mapping[str, float] = field(default_factory=lambda: NOTHING)


class ObservedSource(ABC):
    """A set of kernel files that are read together. Hashed by identity."""

    name: str

    @abstractmethod
    def read(self) -> Sequence[Reading | Problem] | None:
        """The present data; None after an unmount."""

    @abstractmethod
    def close(self) -> None:
        """Release all descriptors."""


class MountObserver(ABC):
    """Observes mounts of one kind below a root. Not for use from several threads.

    It looks for mounts every few seconds, and at once after one vanished. A mount whose files block is reported as
    stale and left alone until its read returns. The mount itself is never accessed, because a dead server would block
    that forever.
    """

    system: str

    def __init__(
        self,
        root: str | Path = "/",
        *,
        deadline_s: float = 1.0,
        rescan_s: float = RESCAN_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.fs = KernelFs(root)
        self.clock = clock
        self._deadline: Deadline[ObservedSource, Sequence[Reading | Problem] | None] = Deadline(deadline_s)
        self._rescan_s = rescan_s
        self._next_scan_s = float("-inf")
        self._sources: dict[str, ObservedSource] = {}
        self._scan_problems: Sequence[Problem] = ()

    @abstractmethod
    def scan(self, known: Mapping[str, ObservedSource]) -> tuple[dict[str, ObservedSource], list[Problem]]:
        """The present sources by name (known ones unchanged), and what could not be determined."""

    def observe(self) -> NodeSnapshot:
        """All mounts now."""
        t_s = self.clock()
        if t_s >= self._next_scan_s:
            self._rescan()
            self._next_scan_s = t_s + self._rescan_s
        outcome = self._deadline.run(list(self._sources.values()), lambda source: source.read())
        readings: list[Reading] = []
        problems = [*self._scan_problems]
        for result in outcome.results:
            if result is None:
                self._next_scan_s = float("-inf")
            for item in result or ():
                if isinstance(item, Problem):
                    problems.append(item)
                else:
                    readings.append(item)
        problems += [Problem(source.name, "stale: a read of its files blocks") for source in outcome.blocked]
        problems += [
            Problem(source.name, "not read: too many reads block, or no thread is free")
            for source in outcome.untouched
        ]
        return NodeSnapshot(
            t_s,
            tuple(reading.snapshot for reading in readings),
            {reading.snapshot.target.mount: reading.asked for reading in readings if reading.asked},
            tuple(problems),
            self.system,
        )

    def close(self) -> None:
        """Release all descriptors and the worker."""
        self._deadline.close()
        self._let_go(list(self._sources.values()))
        self._sources = {}
        self._next_scan_s = float("-inf")

    def _rescan(self) -> None:
        try:
            found, self._scan_problems = self.scan(self._sources)
        except FileNotFoundError:
            # A tree of copied kernel files need not have a mount table. Then nothing is mounted.
            found, self._scan_problems = {}, ()
        except OSError as error:
            self._scan_problems = [unread(self.fs, self.system, error)]
            return
        except PenstockError as error:
            self._scan_problems = [Problem(self.system, str(error))]
            return
        self._let_go([source for name, source in self._sources.items() if found.get(name) is not source])
        self._sources = found

    def _let_go(self, sources: Sequence[ObservedSource]) -> None:
        blocked = self._deadline.blocked()
        for source in sources:
            if source not in blocked:
                source.close()
