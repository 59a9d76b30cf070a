"""Finds the daemons of FUSE mounts among all processes, a bounded piece of work at a time.

The only way is to look at the open files of every process, and users decide how many there are. So a search ends at a
deadline and goes on later where it stopped. A mount whose daemon is not among the processes is looked for again after
a wait that doubles each time. If time or descriptors run out at a process, it is looked at again; until then no mount
counts as missing.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Collection
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
        until_s = began_s + self._search_s
        by_minor = {mount.minor: mount for mount in wanted}
        if not self._left or not self._looked_for >= set(wanted):
            try:
                self._left, self._looked_for = self._processes(), frozenset(wanted)
            except OSError:
                return
        first = True
        while self._left and by_minor and self._clock() < until_s:
            pid = self._left.pop()
            if not self._look_at(pid, by_minor, until_s):
                # It comes first next time, unless it had a whole search to itself: then it comes last.
                self._left.insert(0 if first else len(self._left), pid)
                break
            first = False
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

    def _look_at(self, pid: str, wanted: dict[int, Mount], until_s: float) -> bool:
        """Take the mounts that a process serves off the wanted ones.

        False if it must be looked at again, because time or the system's descriptors ran out.
        """
        try:
            with os.scandir(self._fs.path(f"proc/{pid}/fd")) as files:
                for file in islice(files, MOST_FILES):
                    if self._clock() >= until_s:
                        return False
                    minor = self._connection(pid, file.name)
                    if minor is not None and minor in wanted:
                        daemon = Daemon(int(pid), read_start(self._fs, int(pid)))
                        mount = wanted.pop(minor)
                        self._known[mount] = daemon
                        self._missing.pop(mount, None)
        except (FileNotFoundError, ProcessLookupError, PermissionError, DataError):
            # It has ended, or this user may not look at it.
            return True
        except OSError:
            return False
        return True

    def _processes(self) -> list[str]:
        """All processes, those to be looked at first last: root's, because ordinary users can start many."""
        pids = [name for name in self._fs.names("proc") if name.isascii() and name.isdigit()]
        return sorted(pids, key=lambda pid: (self._is_roots(pid), -int(pid)))

    def _is_roots(self, pid: str) -> bool:
        try:
            return os.stat(self._fs.path(f"proc/{pid}")).st_uid == 0  # noqa: PTH116 - no Path for each of thousands
        except OSError:
            return False

    def _connection(self, pid: str, number: str) -> int | None:
        """The connection of an open /dev/fuse, which the kernel reports since Linux 6.14; None for any other file."""
        try:
            if os.readlink(self._fs.path(f"proc/{pid}/fd/{number}")) != _DEVICE:  # noqa: PTH115 - as above
                return None
            text = read_once(self._fs.path(f"proc/{pid}/fdinfo/{number}")).decode("ascii", "replace")
        except OSError as error:
            # A file whose path is too long for the kernel to name is not the device. Users can open such files.
            if error.errno in (errno.ENOENT, errno.ENAMETOOLONG):
                return None
            raise
        return parse_connection(text)
