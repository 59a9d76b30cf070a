"""Reads the CARAT authors' public traces (`data/lustre-traces`, docs/explanation/learning.md): gzipped CSV."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from penstock.errors import DataError
from penstock.predict.trees.forest import Floats
from penstock.train.table import NUMBERS, TraceTable

# Our column name and theirs. Their counters were cleared at every probe, so each row is one interval's sum.
TRACE_COLUMNS = {
    "seconds": "actual_record_duration",
    "pages": "osc_rpc_configuration_current.mppr_value",
    "flight": "osc_rpc_configuration_current.mrif_value",
    "dirty_bytes": "cur_dirty_bytes",
    "grant_bytes": "cur_grant_bytes",
    **{
        f"{direction}_{ours}": theirs.format(direction)
        for direction in ("read", "write")
        for ours, theirs in {
            "bytes": "ost_{}_rpc_bytes_data.samples_sum",
            "rpcs": "ost_{}_rpc_bytes_data.no_of_samples",
            "usec": "ost_{}_rpc_usec_data.samples_sum",
            "app_bytes": "llite_stats_{}_bytes.samples_sum",
            "app_calls": "llite_stats_{}_bytes.no_of_samples",
        }.items()
    },
}
_KEYS = ("workload", "iteration", "ost", "observation_no")


def read(path: Path) -> TraceTable:
    """One file. Columns may come in any order and there may be more; a missing or garbled one is an error."""
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
            return _parse(csv.reader(lines), path)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read as gzipped CSV: {error}") from None


def _parse(lines: Iterator[list[str]], path: Path) -> TraceTable:
    header: list[str] = next(lines, [])
    missing = [name for name in (*_KEYS, *TRACE_COLUMNS.values()) if name not in header]
    if missing:
        raise DataError(f"{path}: column {missing[0]!r} is missing")
    key_at = [header.index(name) for name in _KEYS]
    number_at = [header.index(TRACE_COLUMNS[name]) for name in NUMBERS]
    keys: list[tuple[str, int, int, int]] = []
    values: list[list[float]] = []
    for number, line in enumerate(lines, start=2):
        try:
            workload, *rest = (line[at] for at in key_at)
            keys.append((workload, int(rest[0]), int(rest[1]), int(rest[2])))
            values.append([float(line[at]) for at in number_at])
        except (ValueError, IndexError) as error:
            raise DataError(f"{path}: line {number}: {error}") from None
    numbers = np.array(values, dtype=np.float64).reshape(-1, len(NUMBERS))
    _refuse_odd(numbers, path)
    names, iterations, osts, observations = zip(*keys, strict=True) if keys else ((), (), (), ())
    return TraceTable(
        np.array(names, dtype=np.str_),
        np.array(iterations, dtype=np.int64),
        np.array(osts, dtype=np.int64),
        np.array(observations, dtype=np.int64),
        numbers,
    )


def _refuse_odd(numbers: Floats, path: Path) -> None:
    odd = ~(np.isfinite(numbers) & (numbers >= 0))
    if odd.any():
        row, column = (int(index) for index in np.argwhere(odd)[0])
        value, name = numbers[row, column], TRACE_COLUMNS[NUMBERS[column]]
        raise DataError(f"{path}: line {row + 2}: {name} is {value:g}, which is not a count")
