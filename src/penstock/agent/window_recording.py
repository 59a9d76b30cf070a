"""The windows an agent decided from, kept beside its decision log so that its decisions can be made again.

The file is JSON lines (see `interval_lines`) in gzip members: `zcat` shows it. It is bounded on disk. What cannot be
written ends the recording, never the agent. Every member stands for itself: one that a crash tore costs its own
intervals only.
"""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from penstock.agent.deciding import IntervalDecisions, KnownSpace
from penstock.agent.interval_lines import IntervalReader, IntervalWriter, RecordedInput
from penstock.agent.rotated_file import RotatedFile, parts
from penstock.agent.run_start import RunStart, parse_start
from penstock.decision import Decision
from penstock.errors import DataError

FILES = 4
# Since 2 a window says what a restore would bring back; without that decisions cannot be made again.
FORMAT = 2
# What waits in memory: so much, or so long where little comes. A change to be made never waits.
MOST_WAITING_BYTES = 1 << 16
LONGEST_WAIT_S = 10.0
# The quickest level: it leaves a quarter of the bytes, a better one a fifth for three times the work.
LEVEL = 1
# Every member begins so: gzip, deflate, no flags, no time.
_MAGIC = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
_CHUNK = 1 << 16
# A member is what waited once, and one interval of a very large node.
_MOST_MEMBER_BYTES = 1 << 26


class WindowRecorder:
    """Writes one run: from its start until `max_bytes` are full, at the expense of earlier runs.

    Files hold a quarter each, and each begins with what the run began with.
    """

    def __init__(self, path: Path, max_bytes: int, start: RunStart, report: Callable[[str], None]) -> None:
        #: Says whether the model is asked through compiled code.
        self.compiled: Callable[[], bool] = bool
        self._file = RotatedFile(path, max_bytes // FILES, FILES - 1)
        self._start, self._report = start, report
        self._writer = IntervalWriter()
        self._intervals = 0
        self._waiting: list[str] = []
        self._waiting_bytes = 0
        self._since_s: float | None = None
        self._ended = False
        #: How many files hold something of this run.
        self._files = 1
        self._begin()

    def take(self, decided: IntervalDecisions, carried_out: Sequence[Decision], known: KnownSpace) -> None:
        """Keep one interval; one with changes to be made is on disk when this returns."""
        if self._ended:
            return
        lines = self._writer.lines(replace(decided, compiled=self.compiled()), carried_out, known)
        self._intervals += 1
        self._waiting += lines
        self._waiting_bytes += sum(map(len, lines))
        now_s = decided.interval.now_s
        self._since_s = now_s if self._since_s is None else self._since_s
        if (
            any(decision.changes for decision in carried_out)
            or self._waiting_bytes > MOST_WAITING_BYTES
            or now_s - self._since_s > LONGEST_WAIT_S
        ):
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._ended or not self._waiting:
            return
        piece = _piece(self._waiting)
        self._waiting, self._waiting_bytes, self._since_s = [], 0, None
        if not self._file.append(piece):
            self._ended = True
            self._report(f"{self._file.path}: cannot be written: later decisions cannot be replayed")
        elif self._full():
            if self._files < FILES:
                self._files += 1
                self._begin()
            else:
                # One more file would cost the first, and without a run's start nothing of it can be replayed.
                self._ended = True
                self._file.append(_piece([json.dumps({"full": self._intervals})]))

    def _full(self) -> bool:
        try:
            return self._file.path.stat().st_size >= self._file.max_bytes
        except OSError:
            return True

    def _begin(self) -> None:
        """Say what the run began with, in a new file where the last one is full."""
        self._file.make_room(1)
        self._writer = IntervalWriter()
        # What was remembered at the start does not help who has not seen what came after.
        start = self._start if self._intervals == 0 else replace(self._start, knowledge="")
        clocks = {"wall_s": time.time(), "now_s": time.monotonic()}
        head = json.dumps({"run": start.fields(), "interval": self._intervals, "format": FORMAT, **clocks})
        self._waiting.append(head)
        self._waiting_bytes += len(head)


def _piece(lines: list[str]) -> bytes:
    return gzip.compress("\n".join([*lines, ""]).encode(), LEVEL, mtime=0)


@dataclass(frozen=True, slots=True)
class RunBegins:
    """The intervals that follow are of this run; `interval` is how many of it came before."""

    start: RunStart
    interval: int
    format: int
    #: What to add to an interval's time for the time of day; None where the recording does not say.
    wall_offset_s: float | None = None


@dataclass(frozen=True, slots=True)
class RecordingGap:
    """What comes next of this run, if anything, does not follow what came before, and why."""

    why: str


TORN = RecordingGap("a piece of the recording is damaged: nothing after it can be replayed")
FULL = RecordingGap("the recording is full (record_max_bytes): it holds the beginning of this run only")


Recorded = RunBegins | RecordedInput | RecordingGap


def read_windows(path: Path) -> Iterator[Recorded]:
    """Everything recorded, in order; raises `DataError` where a file is no recording."""
    for raw in parts(path, FILES - 1):
        yield from PartReader(path).take(raw)


class PartReader:
    """Reads one file of a recording, at once or as it grows. `taken_bytes` is how far it came."""

    def __init__(self, path: Path) -> None:
        self.taken_bytes = 0
        self._path, self._reader = path, IntervalReader()

    def take(self, raw: bytes, growing: bool = False) -> Iterator[Recorded]:
        """What these bytes hold, which follow the ones taken. A torn end of a growing file is left for later."""
        if raw and not raw.startswith(_MAGIC):
            raise DataError(f"{self._path}: not a recording of an agent's windows")
        for text, whole, size in _members(raw):
            if growing and not whole:
                return
            self.taken_bytes += size
            for line in text.split(b"\n")[:-1]:
                try:
                    found = self._line(json.loads(line))
                except (ValueError, TypeError, KeyError, RecursionError):
                    raise DataError(f"{self._path}: damaged: not a line of a recording") from None
                except DataError as error:
                    raise DataError(f"{self._path}: damaged: {error}") from None
                if found is not None:
                    yield found
            if not whole:
                yield TORN

    def _line(self, said: Any) -> Recorded | None:
        if isinstance(said, dict) and "run" in said:
            self._reader = IntervalReader()
            offset_s = float(said["wall_s"]) - float(said["now_s"]) if "wall_s" in said else None
            start, format = parse_start(said["run"]), int(said.get("format", 1))
            return RunBegins(start, int(said["interval"]), format, offset_s)
        if isinstance(said, dict) and "full" in said:
            return FULL
        return self._reader.read(said)


def _members(raw: bytes) -> Iterator[tuple[bytes, bool, int]]:
    """What each member holds, whether that is all of it, and its size in the file."""
    at, view = 0, memoryview(raw)
    while 0 <= at < len(raw):
        text, end = _member(view, at)
        if end is None:
            # What follows a torn member is not its own: only what it holds before the next one counts.
            end = raw.find(_MAGIC, at + 1)
            end = end if end > 0 else len(raw)
            yield _member(view[:end], at)[0], False, end - at
        else:
            yield text, True, end - at
        at = end


def _member(view: memoryview, at: int) -> tuple[bytes, int | None]:
    """The text of the member at a place, and where it ends; None where it is torn."""
    inflate, found, size = zlib.decompressobj(wbits=31), [], 0
    try:
        while not inflate.eof and at < len(view) and size <= _MOST_MEMBER_BYTES:
            found.append(inflate.decompress(view[at : at + _CHUNK]))
            size += len(found[-1])
            at += _CHUNK
    except zlib.error:
        pass
    text = b"".join(found)
    return text, min(at, len(view)) - len(inflate.unused_data) if inflate.eof else None
