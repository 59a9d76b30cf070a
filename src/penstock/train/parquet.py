"""The Parquet files of `train collect`: the columns of a table, a schema version and the origin of the rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from penstock.errors import DataError, refusal, require_extra
from penstock.output_files import replace_file
from penstock.train.table import NUMBERS, TraceTable

SCHEMA = 1
_SCHEMA_KEY, _PROVENANCE_KEY = b"penstock.schema", b"penstock.provenance"
_KEYS = ("workload", "iteration", "ost", "observation_no")


def read(path: Path) -> TraceTable:
    """One file, refused unless it has this version's schema and every column."""
    found = _read(path)
    missing = [name for name in (*_KEYS, *NUMBERS) if name not in found.column_names]
    if missing:
        raise DataError(f"{path}: column {missing[0]!r} is missing")
    columns = {name: found.column(name).to_numpy() for name in (*_KEYS, *NUMBERS)}
    try:
        keys = [columns[name].astype(np.int64) for name in _KEYS[1:]]
        values = np.stack([columns[name].astype(np.float64) for name in NUMBERS], axis=-1)
        return TraceTable(columns["workload"].astype(np.str_), keys[0], keys[1], keys[2], values)
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}: a column does not hold numbers: {error}") from None


def write(path: Path, table: TraceTable, origin: Mapping[str, object]) -> None:
    """Write a table as a whole, so that a reader never sees half a file."""
    arrow, parquet = _libraries()
    columns = {name: getattr(table, name) for name in _KEYS} | {name: table.column(name) for name in NUMBERS}
    metadata = {_SCHEMA_KEY: str(SCHEMA).encode(), _PROVENANCE_KEY: json.dumps(origin).encode()}
    content = arrow.table({name: arrow.array(column) for name, column in columns.items()})
    packed = BytesIO()
    parquet.write_table(content.replace_schema_metadata(metadata), packed, compression="zstd")
    try:
        replace_file(path, packed.getvalue())
    except OSError as error:
        raise refusal(path, error) from None


def _read(path: Path) -> Any:
    arrow, parquet = _libraries()
    try:
        found = parquet.read_table(path)
    except (arrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet: {' '.join(str(error).split())}") from None
    version = (found.schema.metadata or {}).get(_SCHEMA_KEY)
    if version != str(SCHEMA).encode():
        raise DataError(f"{path}: schema {version and version.decode()!r} is not {SCHEMA}; collect it again")
    return found


def _libraries() -> tuple[Any, Any]:
    try:
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ImportError as error:
        raise require_extra("train", error) from None
    return pyarrow, pyarrow.parquet
