"""Files of recorded requests: CSV or Parquet with one row a request, and what a Darshan log traced (DXT).

The columns are `t` (seconds), `client` and `stream` (numbers from 0), `file` (a name), `op` (`read` or `write`),
`offset` and `bytes`; `seconds`, how long the request took, is optional. Other columns are ignored.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from penstock.errors import AccessError, DataError, MissingError, UsageError, require_extra
from penstock.simulate.recorded import OPS, Requests, from_rows

COLUMNS = ("t", "client", "stream", "file", "op", "offset", "bytes")
Row = tuple[float, int, int, str, str, int, int, float]
MOST_BYTES = 1 << 50


def read_requests(path: Path) -> Requests:
    """The requests of a file, by what its name ends in: `.csv`, `.parquet` or `.darshan`."""
    if not path.exists():
        raise MissingError(f"{path}: no such file")
    readers: dict[str, Callable[[Path], Iterator[Row]]] = {
        ".csv": _read_csv,
        ".parquet": _read_parquet,
        ".darshan": _read_dxt,
    }
    if path.suffix not in readers:
        raise UsageError(f"{path}: recorded requests are .csv, .parquet or .darshan")
    try:
        rows = list(readers[path.suffix](path))
    except PermissionError:
        raise AccessError(f"{path}: permission denied") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}") from None
    if not rows:
        raise DataError(f"{path}: no requests")
    return from_rows(rows)


def _read_csv(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        _check_columns(path, reader.fieldnames or ())
        yield from _rows(path, reader, first_line=2)


def _read_parquet(path: Path) -> Iterator[Row]:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise require_extra("train", error) from error
    try:
        table = parquet.read_table(path)
    except arrow.ArrowInvalid as error:
        raise DataError(f"{path}: not a Parquet file: {error}") from None
    _check_columns(path, table.column_names)
    yield from _rows(path, table.to_pylist(), first_line=1)


def _check_columns(path: Path, found: Iterable[str]) -> None:
    missing = [name for name in COLUMNS if name not in set(found)]
    if missing:
        raise DataError(f"{path}: column {missing[0]!r} is missing; needed are {', '.join(COLUMNS)}")


def _rows(path: Path, records: Iterable[Mapping[str, Any]], first_line: int) -> Iterator[Row]:
    for line, record in enumerate(records, start=first_line):
        row = _row(path, line, record)
        if row[6] > 0:
            yield row


def _row(path: Path, line: int, record: Mapping[str, Any]) -> Row:
    column = ""
    try:
        numbers = {}
        for column in ("client", "stream", "offset", "bytes"):
            numbers[column] = int(record[column])
            if not 0 <= numbers[column] <= MOST_BYTES:
                raise ValueError(column)
        times = {}
        for column in ("t", "seconds"):
            times[column] = float(record.get(column) or 0.0)
            if not math.isfinite(times[column]) or times[column] < 0:
                raise ValueError(column)
    except (TypeError, ValueError):
        raise DataError(
            f"{path}: row {line}: {column}={record.get(column)!r} is no number from 0 on"
        ) from None
    if record["op"] not in OPS:
        raise DataError(f"{path}: row {line}: op={record['op']!r} is neither read nor write")
    return (
        times["t"],
        numbers["client"],
        numbers["stream"],
        str(record["file"]),
        str(record["op"]),
        numbers["offset"],
        numbers["bytes"],
        times["seconds"],
    )


def _read_dxt(path: Path) -> Iterator[Row]:
    """What a log traced beneath MPI-IO: hosts become clients, ranks streams."""
    from penstock.observe.darshan_log import read_dxt

    segments = read_dxt(path)
    if not segments:
        raise DataError(f"{path}: the log holds no DXT trace; run the job with DXT_ENABLE_IO_TRACE=1")
    hosts = {name: n for n, name in enumerate(sorted({str(one["host"]) for one in segments}))}
    for one in segments:
        if int(one["bytes"]) > 0 and int(one["offset"]) >= 0:
            start_s = float(one["start_s"])
            yield (
                start_s,
                hosts[str(one["host"])],
                int(one["rank"]),
                str(one["file"]),
                str(one["op"]),
                int(one["offset"]),
                int(one["bytes"]),
                max(0.0, float(one["end_s"]) - start_s),
            )
