"""`stats` files: one row per counter, `name count samples [unit] min max sum sumsq`.

A row appears with its first sample, so a missing row counts as zero. Some rows end after the unit, some after the
sum. Times in the head (`start_time`) are kept as text, because they are only compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.errors import DataError

_HEAD = frozenset({b"snapshot_time", b"start_time", b"elapsed_time"})


@dataclass(frozen=True, slots=True)
class StatsRow:
    """One counter: how many samples, and their sum and the least of them where the kernel keeps these."""

    count: int
    total: int | None
    unit: str
    least: int | None = None


@dataclass(frozen=True, slots=True)
class Stats:
    """A whole `stats` file. `garbled` names the rows that are there but make no sense."""

    rows: Mapping[str, StatsRow]
    garbled: tuple[str, ...]
    start_time: str | None


def check_whole(text: bytes, what: str) -> None:
    """Raise `DataError` unless the text ends with a complete line. A text cut inside a line is never used."""
    if not text.endswith(b"\n"):
        raise DataError(f"{what}: cut off inside a line" if text else f"{what}: empty")


def parse_stats(text: bytes, what: str = "stats") -> Stats:
    """All rows of a `stats` or `read_ahead_stats` file."""
    check_whole(text, what)
    rows: dict[str, StatsRow] = {}
    garbled: list[str] = []
    start_time = None
    for line in text.splitlines():
        fields = line.split()
        if not fields or fields[0].rstrip(b":") in _HEAD:
            if fields and fields[0].startswith(b"start_time") and len(fields) > 1:
                start_time = fields[1].decode("ascii", "replace")
            continue
        name, row = _row(fields)
        if row is None:
            garbled.append(name)
        else:
            rows[name] = row
    return Stats(rows, tuple(garbled), start_time)


def _row(fields: Sequence[bytes]) -> tuple[str, StatsRow | None]:
    """Before 2.15 the name of a read-ahead row may contain blanks. It ends two fields before the unit."""
    try:
        mark = fields.index(b"samples")
    except ValueError:
        return fields[0].decode("utf-8", "replace"), None
    name = b"_".join(fields[: max(mark - 1, 1)]).decode("utf-8", "replace")
    try:
        numbers = [int(field) for field in fields[mark + 2 :]]
        count = int(fields[mark - 1]) if mark >= 2 else -1
    except ValueError:
        return name, None
    total = numbers[2] if len(numbers) > 2 else None
    if count < 0 or (total is not None and total < 0) or len(numbers) in (1, 2) or len(fields) < mark + 2:
        return name, None
    unit = fields[mark + 1].strip(b"[]").decode("utf-8", "replace")
    return name, StatsRow(count, total, unit, numbers[0] if total is not None else None)


def find_row(text: bytes, needle: bytes) -> tuple[int, int] | None:
    """The count and the sum of one row, without looking at any other; None when it is not printed.

    `needle` is a newline and the row's name. Raises ValueError where the row is there and makes no sense.

    >>> find_row(b"x 1\\nread_bytes 2 samples [bytes] 1 5 6 26\\n", b"\\nread_bytes")
    (2, 6)
    >>> find_row(b"x 1\\nread_bytes_x 2 samples [bytes] 1 5 6 26\\n", b"\\nread_bytes")
    """
    found = find_count(text, needle)
    if found is None:
        return None
    count, total = found
    if total is None:
        raise ValueError("a row without its sum")
    return count, total


def find_count(text: bytes, needle: bytes) -> tuple[int, int | None] | None:
    """The same for a row whose sum some versions do not keep; then the sum is None.

    >>> find_count(b"x 1\\nfsync 2 samples [reqs]\\n", b"\\nfsync")
    (2, None)
    """
    at = text.find(needle)
    while at >= 0:
        start = at + len(needle)
        if text[start : start + 1].isspace():
            return _counted(text[start : text.find(b"\n", start)].split(None, 6))
        at = text.find(needle, start)
    return None


def _counted(fields: Sequence[bytes]) -> tuple[int, int | None]:
    if len(fields) < 3 or fields[1] != b"samples" or len(fields) in (4, 5):
        raise ValueError("a row without its samples")
    count, total = int(fields[0]), int(fields[5]) if len(fields) > 5 else None
    if count < 0 or (total is not None and total < 0):
        raise ValueError("a negative counter")
    return count, total


def find_rows(text: bytes, names: Sequence[bytes]) -> list[tuple[int, int]] | None:
    """The counts and sums of whole rows that follow each other directly, in one sweep.

    None unless all are there, in this order, and make sense: then `find_row` has to say what is the matter.

    >>> find_rows(b"x 1\\na 2 samples [r] 1 5 6 26\\nb 1 samples [r] 1 1 1 1\\n", (b"a", b"b"))
    [(2, 6), (1, 1)]
    """
    at = text.find(b"\n" + names[0])
    if at < 0:
        return None
    width = 8 * len(names)
    fields = text[at:].split(None, width)
    if fields[0:width:8] != [*names] or fields[2:width:8].count(b"samples") != len(names):
        return None
    try:
        found = [(int(fields[start + 1]), int(fields[start + 6])) for start in range(0, width, 8)]
    except (ValueError, IndexError):
        return None
    return found if min(map(min, found)) >= 0 else None


def find_start_time(text: bytes) -> tuple[bytes, bytes]:
    """The head's line of `start_time` and the time as written, both empty where this version prints none.

    >>> find_start_time(b"snapshot_time 2.0 secs.nsecs\\nstart_time     1.0 secs.nsecs\\nx 1 samples [r]\\n")
    (b'start_time     1.0 secs.nsecs\\n', b'1.0')
    """
    at = text.find(b"start_time")
    if at < 0:
        return b"", b""
    line = text[at : text.find(b"\n", at) + 1]
    fields = line.split(None, 2)
    return line, fields[1] if len(fields) > 1 else b""
