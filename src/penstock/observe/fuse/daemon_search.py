"""Finds the daemons of FUSE mounts among all processes, a bounded piece of work at a time.

The only way is to look at the open files of every process, and users decide how many there are. So a search ends at a
deadline and goes on later where it stopped. A mount whose daemon is not among the processes is looked for again after
a wait that doubles each time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import islice

from penstock.errors import DataError
from penstock.observe.fuse.daemon import Daemon, parse_connection, read_start
from penstock.observe.kernelfs import KernelFs, read_once
from penstock.observe.mounts import Mount

#: What one search may take, and the share of all time that searches may take.
SEARCH_S = 0.1
SHARE = 0.05
FIRST_WAIT_S, LONGEST_WAIT_S = 5.0, 320.0
# A daemon opens its device when it starts, so the device is among its first files.
MOST_FILES = 4096
_DEVICE = "/dev/fuse"


@dataclass(slots=True)
class _Missing:
    """A mount whose daemon was not found: how long to wait, and until when."""

    wait_s: float
    due_s: float


class DaemonSearch:
    """The daemons of mounts. `search_s` bounds one call of `find`; nothing else in it grows with the node."""

    def __init__(
        self, fs: KernelFs, clock: Callable[[], float] = time.monotonic, search_s: float = SEARCH_S
    ) -> None:
        self._fs, self._clock, self._search_s = fs, clock, search_s
        self._known: dict[Mount, Daemon] = {}
        self._missing: dict[Mount, _Missing] = {}
        #: The processes that the last search did not come to, and what it looks for.
        self._left: list[str] = []
        self._looked_for: frozenset[Mount] = frozenset()
        self._next_s = float("-inf")

    def find(self, mounts: Collection[Mount]) -> dict[Mount, Daemon]:
        """The daemons that are known by now. Mounts without one are left out."""
        there, now_s = set(mounts), self._clock()
        self._known = {
            mount: daemon for mount, daemon in self._known.items() if mount in there and self.serves(daemon)
        }
        self._missing = {mount: found for mount, found in self._missing.items() if mount in there}
        wanted = [mount for mount in mounts if mount not in self._known and self._is_due(mount, now_s)]
        if wanted and now_s >= self._next_s:
            self._search(wanted)
        return dict(self._known)

    def unfinished(self, mount: Mount) -> bool:
        """Whether a mount's daemon may yet be found: not every process was looked at."""
        return mount not in self._known and mount not in self._missing

    def serves(self, daemon: Daemon) -> bool:
        """Whether a daemon still runs."""
        try:
            return read_start(self._fs, daemon.pid) == daemon.started
        except (OSError, DataError):
            return False

    def _is_due(self, mount: Mount, now_s: float) -> bool:
        return mount not in self._missing or now_s >= self._missing[mount].due_s

    def _search(self, wanted: list[Mount]) -> None:
        began_s = self._clock()
        by_minor = {mount.minor: mount for mount in wanted}
        if not self._left or not self._looked_for >= set(wanted):
            self._left, self._looked_for = self._processes(), frozenset(wanted)
        while self._left and by_minor and self._clock() - began_s < self._search_s:
            pid = self._left.pop()
            for minor in self._connections(pid, began_s + self._search_s):
                mount = by_minor.pop(minor, None)
                if mount is not None:
                    self._take(mount, int(pid))
        now_s = self._clock()
        if not self._left:
            for mount in by_minor.values():
                before = self._missing.get(mount, _Missing(FIRST_WAIT_S / 2, 0.0))
                wait_s = min(2 * before.wait_s, LONGEST_WAIT_S)
                self._missing[mount] = _Missing(wait_s, now_s + wait_s)
        elif by_minor:
            self._next_s = now_s + (now_s - began_s) / SHARE
        if not by_minor:
            self._left = []

    def _take(self, mount: Mount, pid: int) -> None:
        try:
            self._known[mount] = Daemon(pid, read_start(self._fs, pid))
        except (OSError, DataError):
            return
        self._missing.pop(mount, None)

    def _processes(self) -> list[str]:
        """All processes, those to be looked at first last: root's, because ordinary users can start many."""
        pids = [name for name in self._fs.names("proc") if name.isascii() and name.isdigit()]
        return sorted(pids, key=lambda pid: (self._is_roots(pid), -int(pid)))

    def _is_roots(self, pid: str) -> bool:
        try:
            return os.stat(self._fs.path(f"proc/{pid}")).st_uid == 0  # noqa: PTH116 - no Path for each of thousands
        except OSError:
            return False

    def _connections(self, pid: str, until_s: float) -> Iterator[int]:
        """The connections whose device a process has open. The kernel reports them since Linux 6.14."""
        try:
            with os.scandir(self._fs.path(f"proc/{pid}/fd")) as files:
                for file in islice(files, MOST_FILES):
                    if self._clock() >= until_s:
                        return
                    minor = self._connection(pid, file.name)
                    if minor is not None:
                        yield minor
        except OSError:
            return

    def _connection(self, pid: str, number: str) -> int | None:
        try:
            if os.readlink(self._fs.path(f"proc/{pid}/fd/{number}")) != _DEVICE:  # noqa: PTH115 - as above
                return None
            text = read_once(self._fs.path(f"proc/{pid}/fdinfo/{number}")).decode("ascii", "replace")
        except OSError:
            return None
        return parse_connection(text)
