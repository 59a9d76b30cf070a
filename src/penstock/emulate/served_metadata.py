"""A served mount's metadata: the connection to its metadata server and its statahead, with knobs as the kernel's.

Every rule was seen on a real client (2.15.8), whose recorded answers are replayed against this in the tests.
"""

from __future__ import annotations

import errno
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from penstock.emulate.formats import head, stats_row
from penstock.emulate.served_client import MetadataFigures, Sums
from penstock.emulate.stores import parse_plain, refuse

MOST_RPCS, MOST_STATAHEAD, MOST_SCANS = 512, 512, 256
_SERVER_LIMIT = re.compile(r"max_mod_rpcs: \d+")


@dataclass(slots=True)
class ServedMetadata:
    """`figures` says what was done, `apply` is told every new value. `server_limit` is what the server allows.

    `agl` (statahead_agl) and `scans` (statahead_running_max) are kept, and nothing is simulated behind them.
    """

    figures: Callable[[], MetadataFigures]
    apply: Callable[[int, int, int], None]
    wide: bool
    statahead: int
    import_text: str
    rpcs: int = 8
    mod_rpcs: int = 7
    server_limit: int = 8
    start_s: float = 0.0
    agl: bool = True
    scans: int = 16

    def store_rpcs(self, text: str) -> None:
        """max_rpcs_in_flight; lowering it below the other one cuts that."""
        value = parse_plain(text)
        if not 2 <= value <= MOST_RPCS:
            raise refuse(errno.ERANGE)
        self._take(value, min(self.mod_rpcs, value - 1))

    def store_mod_rpcs(self, text: str) -> None:
        """max_mod_rpcs_in_flight. It raises the other one before the server's limit is asked about."""
        value = parse_plain(text)
        if not 1 <= value < MOST_RPCS:
            raise refuse(errno.ERANGE)
        self._take(max(self.rpcs, value + 1), self.mod_rpcs)
        if value > self.server_limit:
            raise refuse(errno.ERANGE)
        self._take(self.rpcs, value)

    def store_statahead(self, text: str) -> None:
        """statahead_max: a value that is too large is taken for written."""
        value = parse_plain(text)
        if value <= MOST_STATAHEAD:
            self.statahead = value
            self.apply(self.rpcs, self.mod_rpcs, value)

    def store_agl(self, text: str) -> None:
        """statahead_agl: on or off."""
        value = parse_plain(text)
        if value not in (0, 1):
            raise refuse(errno.EINVAL)
        self.agl = bool(value)

    def store_scans(self, text: str) -> None:
        """statahead_running_max: how many directories are read ahead at once."""
        value = parse_plain(text)
        if value > MOST_SCANS:
            raise refuse(errno.ERANGE)
        self.scans = value

    def connection(self) -> str:
        """`import`, with what the server allows."""
        return _SERVER_LIMIT.sub(f"max_mod_rpcs: {self.server_limit}", self.import_text)

    def stats(self) -> str:
        """`stats` of the connection: its requests."""
        done = self.figures()
        waits = [done.looked, done.created, done.unlinked, done.closed, done.pinged]
        enqueued = done.looked.count + done.created.count
        return head(time.time(), self.start_s, width=self._width) + "".join(
            (
                stats_row("req_waittime", _together(waits), "usecs", width=self._width),
                stats_row("ldlm_ibits_enqueue", _ones(enqueued), "reqs", width=self._width),
                stats_row("mds_close", done.closed, "usecs", width=self._width),
                stats_row("obd_ping", done.pinged, "usecs", width=self._width),
            )
        )

    def operations(self) -> str:
        """`md_stats`: what the requests were for."""
        done = self.figures()
        counts = (
            ("close", done.closed.count),
            ("create", done.created.count),
            ("intent_lock", done.looked.count + done.created.count),
            ("unlink", done.unlinked.count),
        )
        rows = (f"{name:<{self._width}}{count} samples [reqs]\n" for name, count in counts if count)
        return head(time.time(), self.start_s, width=self._width) + "".join(rows)

    def calls(self) -> str:
        """The rows of the mount's `stats` that say what applications called."""
        done = self.figures()
        rows = (("getattr", done.asked), ("unlink", done.unlinked), ("mknod", done.created))
        return "".join(stats_row(name, sums, "usecs", width=self._width) for name, sums in rows)

    @property
    def _width(self) -> int:
        return 36 if self.wide else 26

    def _take(self, rpcs: int, mod_rpcs: int) -> None:
        self.rpcs, self.mod_rpcs = rpcs, mod_rpcs
        self.apply(rpcs, mod_rpcs, self.statahead)


def _ones(count: int) -> Sums:
    return Sums(count, 1, 1, count, count) if count else Sums()


def _together(parts: list[Sums]) -> Sums:
    used = [part for part in parts if part.count]
    return Sums(
        sum(part.count for part in used),
        min((part.low for part in used), default=0),
        max((part.high for part in used), default=0),
        sum(part.total for part in used),
        sum(part.squares for part in used),
    )
