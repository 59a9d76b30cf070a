"""Parses the texts of a client's metadata: its connections to metadata servers, and a mount's statahead.

Requests that change something and those that only look cannot be told apart in one file, so the parsers put two files
together. There are few such targets, so every text is parsed anew.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from penstock.errors import DataError
from penstock.knobs import Setting
from penstock.observe.lustre.imports import find_connection, parse_state
from penstock.observe.lustre.known_rows import KnownRows
from penstock.observe.lustre.stats import Stats, parse_stats
from penstock.observe.lustre.values import parse_count
from penstock.snapshot import Target, TargetSnapshot

# Operations that take one request which changes something, as `md_stats` names them.
_CHANGES = ("create", "unlink", "link", "rename", "setattr", "setxattr")
# Requests that look something up, or open, as `stats` names them. A create is one of them too.
_REQUESTS = ("ldlm_ibits_enqueue", "mds_getattr", "mds_getxattr", "mds_readpage")
# What nobody waits for.
_UNAWAITED = ("obd_ping", "ldlm_cancel")
# What applications call on a mount.
_LOOKS = ("getattr", "open", "readdir")
_CALLS = (
    "mknod",
    "create",
    "mkdir",
    "unlink",
    "rmdir",
    "rename",
    "link",
    "symlink",
    "setattr",
    "truncate",
    "setxattr",
)

Texts = Sequence[bytes | None]


class MetadataParser(ABC):
    """Turns texts into snapshots of one target. `knobs` are its knobs' files; their texts come last.

    `problems` has the errors of the last texts, by file.
    """

    def __init__(self, target: Target, knobs: Mapping[str, str]) -> None:
        self.target = target
        self._knobs = knobs
        self.problems: dict[str, str] = {}

    @abstractmethod
    def parse(self, t_s: float, texts: Texts) -> TargetSnapshot:
        """The snapshot these texts make. A `stats` text cut inside a line raises `DataError`.

        Counters that could not be read, or whose text lost or garbled a row, are unknown and have no epoch.
        """

    def _unknown(self) -> dict[str, float]:
        times = (f"{way.name}.usec" for way in self.target.kind.ways)
        return dict.fromkeys((*self.target.kind.volumes, *times), math.nan)

    def _trusted(self, stats: Stats, known: KnownRows, file: str) -> bool:
        """Whether the rows of a text may be believed. If not, `problems` says why."""
        self.problems.pop(file, None)
        doubt = known.doubt(stats)
        if doubt is not None:
            self.problems[file] = doubt
        return doubt is None

    def _setting(self, texts: Texts) -> Setting:
        """The knobs whose files could be read."""
        values = {}
        for (knob_id, file), text in zip(self._knobs.items(), texts, strict=True):
            self.problems.pop(file, None)
            try:
                values.update({} if text is None else {knob_id: parse_count(text, file)})
            except DataError as error:
                self.problems[file] = str(error)
        return Setting(values)


class MdcParser(MetadataParser):
    """The texts of one connection to a metadata server.

    What looks something up is counted as requests less creates. Its counters are read one after the other, so the
    difference may fall for a moment; its highest value counts. The time of requests is known for all together, and
    each way of work gets its share of what was added; at the first look, of all there was.
    """

    def __init__(self, target: Target, knobs: Mapping[str, str]) -> None:
        super().__init__(target, knobs)
        self._known = KnownRows((*_REQUESTS, "req_waittime", *_UNAWAITED)), KnownRows((*_CHANGES, "close"))
        self._epoch = ""
        self._queries = 0.0
        self._requests = (0.0, 0.0)
        self._waited = 0.0
        self._usec = [0.0, 0.0]

    def parse(self, t_s: float, texts: Texts) -> TargetSnapshot:
        stats, operations, connection, active, state, *knobs = texts
        said, generation = self._connection(connection, state)
        gauges: dict[str, float] = {}
        counters: Mapping[str, float] = self._unknown()
        epoch = ""
        if stats is not None and operations is not None:
            rows, made = parse_stats(stats), parse_stats(operations, "md_stats")
            trusted = self._trusted(rows, self._known[0], "stats")
            if self._trusted(made, self._known[1], "md_stats") and trusted:
                cleared = sum(known.clearings for known in self._known)
                epoch = f"{rows.start_time}/{made.start_time}/{generation}/{cleared}"
                counters = self._counters(rows, made, epoch)
            waits = rows.rows.get("req_waittime")
            if waits is not None and waits.least:
                gauges["round_trip.usec"] = float(waits.least)
        setting = self._setting(knobs)
        active_now = active is None or active.strip() != b"0"
        return TargetSnapshot(self.target, t_s, setting, counters, gauges, epoch, said, active_now)

    def _counters(self, rows: Stats, made: Stats, epoch: str) -> dict[str, float]:
        changes = _count(made, _CHANGES)
        looked = max(0.0, _count(rows, _REQUESTS) - _count(made, ("create",)))
        waited = _total(rows, ("req_waittime",)) - _total(rows, _UNAWAITED)
        altering = changes + _count(made, ("close",))
        if epoch != self._epoch:
            self._epoch, self._queries, self._usec = epoch, looked, [0.0, 0.0]
            self._requests, self._waited = (0.0, 0.0), 0.0
        self._queries = max(self._queries, looked)
        now = self._queries, altering
        added = [max(0.0, new - old) for new, old in zip(now, self._requests, strict=True)]
        if sum(added) > 0 and waited > self._waited:
            for way, part in enumerate(added):
                self._usec[way] += (waited - self._waited) * part / sum(added)
            self._waited = waited
        self._requests = now
        return {
            "query.ops": self._queries,
            "query.rpcs": self._queries,
            "query.usec": self._usec[0],
            "modify.ops": changes,
            "modify.rpcs": altering,
            "modify.usec": self._usec[1],
        }

    def _connection(self, text: bytes | None, state: bytes | None) -> tuple[str, int | None]:
        self.problems.pop("import", None)
        try:
            if text is not None:
                said, generation, _ = find_connection(text)
                return said, generation
            return ("", None) if state is None else (parse_state(state), None)
        except DataError as error:
            self.problems["import"] = str(error)
            return "", None


class LliteParser(MetadataParser):
    """The texts of one mount: what applications call, how long they wait for it, and its knobs."""

    def __init__(self, target: Target, knobs: Mapping[str, str]) -> None:
        super().__init__(target, knobs)
        self._known = KnownRows((*_LOOKS, *_CALLS))

    def parse(self, t_s: float, texts: Texts) -> TargetSnapshot:
        stats, *knobs = texts
        counters, epoch = self._unknown(), ""
        if stats is not None:
            rows = parse_stats(stats, "llite stats")
            if self._trusted(rows, self._known, "stats"):
                epoch = f"{rows.start_time}/{self._known.clearings}"
                for way, names in zip(self.target.kind.ways, (_LOOKS, _CALLS), strict=True):
                    counters[way.moved] = counters[f"{way.name}.rpcs"] = _count(rows, names)
                    counters[f"{way.name}.usec"] = _total(rows, names)
        return TargetSnapshot(self.target, t_s, self._setting(knobs), counters, {}, epoch, "")


def _count(stats: Stats, names: Sequence[str]) -> float:
    return float(sum(stats.rows[name].count for name in names if name in stats.rows))


def _total(stats: Stats, names: Sequence[str]) -> float:
    return float(sum(stats.rows[name].total or 0 for name in names if name in stats.rows))
