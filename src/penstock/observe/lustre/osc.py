"""Parses the texts of one OSC into a snapshot, probe after probe.

Most texts do not change between probes. So each text is compared with the one before and parsed only if it differs.
No file is accessed here: a live reader and a recording use the same parser.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from penstock.errors import DataError
from penstock.knobs import Setting
from penstock.observe.lustre.imports import find_connection, parse_state
from penstock.observe.lustre.layout import OSC_FILES
from penstock.observe.lustre.stats import check_whole, find_row, find_rows, find_start_time
from penstock.observe.lustre.values import parse_count, parse_megabytes
from penstock.snapshot import Target, TargetSnapshot

# The row's count and sum become these two counters; a None is not kept.
_ROWS: tuple[tuple[bytes, str | None, str], ...] = (
    (b"\nread_bytes", "read.rpcs", "read.bytes"),
    (b"\nwrite_bytes", "write.rpcs", "write.bytes"),
    (b"\nost_read", None, "read.usec"),
    (b"\nost_write", None, "write.usec"),
)
_ROW_NAMES = tuple(needle[1:] for needle, *_ in _ROWS)
# A safe upper bound for the end of the times at the head of `stats`.
_HEAD_BYTES = 256
_KNOBS = ("pages", "flight", "dirty")
UNKNOWN: Mapping[str, float] = {name: math.nan for _, *names in _ROWS for name in names if name}

Texts = Sequence[bytes | None]


class TargetParser:
    """Turns texts into snapshots of one target, with just enough memory to detect damaged texts.

    `problems` has the errors of the last texts, by file. A `stats` text cut inside a line raises `DataError`, and the
    whole snapshot must be discarded.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.problems: dict[str, str] = {}
        self._stats: bytes | None = None
        self._counters: Mapping[str, float] = UNKNOWN
        self._doubted: Mapping[str, float] = {}
        self._cuts = 0
        self._start_time = b""
        self._start_line = b"\n\n"
        self._connection_text: bytes | None = None
        self._import_head = b""
        self._state = ""
        self._generation: int | None = None
        self._brw_bytes: int | None = None
        self._knob_texts: tuple[bytes | None, ...] = ()
        self._setting = Setting()
        self._gauge_texts: tuple[bytes | None, ...] = ()
        self._gauges: Mapping[str, float] = {}
        self._active_text: bytes | None = None
        self._active = True
        self._epoch = ""

    @property
    def counters(self) -> Mapping[str, float]:
        return self._counters

    def parse(self, t_s: float, texts: Texts) -> TargetSnapshot:
        """The snapshot these texts make, in the order of `OSC_FILES`; None stands for a file not read."""
        stats, connection, dirty, grant, pages, flight, limit, active, state = texts
        if stats != self._stats:
            self._read_counters(stats)
        if connection is None:
            connection = state
        if connection != self._connection_text:
            self._read_connection(connection, texts[1] is not None)
        if (pages, flight, limit) != self._knob_texts:
            self._read_setting((pages, flight, limit))
        if (dirty, grant) != self._gauge_texts:
            self._read_gauges(dirty, grant)
        if active != self._active_text:
            self._read_active(active)
        return self._snapshot(t_s)

    def again(self, t_s: float, stats: bytes) -> TargetSnapshot | None:
        """The snapshot with new counters only; None if the counters changed or look odd."""
        before = self._counters
        if stats != self._stats:
            self._read_counters(stats)
        return self._snapshot(t_s) if self._counters == before and not self.problems else None

    def _snapshot(self, t_s: float) -> TargetSnapshot:
        return TargetSnapshot(
            self.target,
            t_s,
            self._setting,
            self._counters,
            self._gauges,
            self._epoch,
            self._state,
            self._active,
        )

    def _read_counters(self, text: bytes | None) -> None:
        self.problems.pop("stats", None)
        if text is None:
            self._stats, self._counters = None, UNKNOWN
            return
        check_whole(text, "stats")
        counters = self._rows(text)
        if self._start_line not in text[:_HEAD_BYTES] and self._restarted(text):
            self._doubted = {}
            self._set_epoch()
        elif self._doubted or (self._stats is not None and counters.keys() != self._counters.keys()):
            self._doubt(counters)
        self._stats = text
        if counters != self._counters:
            # Unchanged counters stay the same object, which windows recognise at once.
            self._counters = counters

    def _restarted(self, text: bytes) -> bool:
        before = self._start_time
        self._start_line, self._start_time = find_start_time(text)
        return self._start_time != before

    def _doubt(self, counters: Mapping[str, float]) -> None:
        """Check a text whose rows differ from the one before although no clearing was announced.

        Rows vanish if the text was cut between two lines, or if counters were cleared by a version without
        `start_time`. When they return, the two cases can be told apart: after a cut the counters continue from their
        old values. What was read in between must not be compared with anything.
        """
        if self._doubted:
            lower = any(counters.get(name, math.inf) < value for name, value in self._doubted.items())
            if not lower and self._doubted.keys() - counters.keys():
                return
            if not lower:
                self._cuts += 1
                self._set_epoch()
            self._doubted = {}
        elif self._counters.keys() - counters.keys():
            self._doubted = self._counters

    def _rows(self, text: bytes) -> dict[str, float]:
        counters: dict[str, float] = {}
        figures = find_rows(text, _ROW_NAMES)
        if figures is not None:
            read, write, read_usec, write_usec = figures
            return {
                "read.rpcs": read[0],
                "read.bytes": read[1],
                "write.rpcs": write[0],
                "write.bytes": write[1],
                "read.usec": read_usec[1],
                "write.usec": write_usec[1],
            }
        for needle, count_name, sum_name in _ROWS:
            row: tuple[float, float] | None
            try:
                row = find_row(text, needle)
            except ValueError as error:
                self.problems["stats"] = f"{needle[1:].decode()}: {error}"
                row = (math.nan, math.nan)
            if row is not None:
                if count_name is not None:
                    counters[count_name] = row[0]
                counters[sum_name] = row[1]
        return counters

    def _read_connection(self, text: bytes | None, is_import: bool) -> None:
        self._connection_text = text
        self.problems.pop("import", None)
        try:
            if not is_import:
                self._import_head = b""
            if text is None:
                self._state = ""
            elif is_import:
                if self._import_head and text.startswith(self._import_head):
                    return
                self._state, generation, brw_bytes = find_connection(text)
                # Nothing before this is needed, and most changes come later.
                self._import_head = text[: text.find(b"\n", text.find(b" generation:")) + 1]
                if brw_bytes != self._brw_bytes:
                    self._brw_bytes, self._gauge_texts = brw_bytes, ()
                if generation != self._generation:
                    self._generation = generation
                    self._set_epoch()
            else:
                self._state = parse_state(text)
        except DataError as error:
            self._state, self._import_head = "", b""
            self.problems["import"] = str(error)

    def _read_setting(self, texts: tuple[bytes | None, ...]) -> None:
        self._knob_texts = texts
        values = {}
        for knob, file, text in zip(_KNOBS, OSC_FILES[4:7], texts, strict=True):
            self.problems.pop(file, None)
            if text is None:
                continue
            try:
                values[knob] = (parse_megabytes if knob == "dirty" else parse_count)(text, file)
            except DataError as error:
                self.problems[file] = str(error)
        self._setting = Setting(values)

    def _read_gauges(self, dirty: bytes | None, grant: bytes | None) -> None:
        self._gauge_texts = (dirty, grant)
        gauges: dict[str, float] = {}
        for name, file, text in (("dirty.bytes", OSC_FILES[2], dirty), ("grant.bytes", OSC_FILES[3], grant)):
            self.problems.pop(file, None)
            if text is None:
                continue
            try:
                gauges[name] = parse_count(text, file)
            except DataError as error:
                self.problems[file] = str(error)
        if self._brw_bytes is not None:
            gauges["brw.bytes"] = self._brw_bytes
        self._gauges = gauges

    def _read_active(self, text: bytes | None) -> None:
        self._active_text = text
        self.problems.pop("active", None)
        try:
            self._active = text is None or parse_count(text, "active") != 0
        except DataError as error:
            self.problems["active"] = str(error)

    def _set_epoch(self) -> None:
        generation = "" if self._generation is None else str(self._generation)
        self._epoch = f"{self._start_time.decode('ascii', 'replace')}/{generation}/{self._cuts}"
