"""The rows of one shard as a Parquet file with a digest. A file is written as a whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.errors import DataError, refusal, require_extra

DIGEST = b"penstock.digest"
_TYPES = {str: "string", int: "int64", float: "float64"}


def digest_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """A digest of the rows. It does not depend on the library that wrote them. NaN and infinity are refused."""
    try:
        text = json.dumps(list(rows), sort_keys=True, allow_nan=False)
    except ValueError:
        raise DataError("a row holds a number that is not finite") from None
    return hashlib.sha256(text.encode()).hexdigest()


def write_rows(
    path: Path, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, type], head: Mapping[str, str]
) -> str:
    """Write all rows or nothing, and return their digest. Two processes may write the same file at the same time."""
    arrow, parquet = _libraries()
    digest = digest_of(rows)
    schema = arrow.schema([(name, getattr(arrow, _TYPES[kind])()) for name, kind in columns.items()])
    metadata = {name.encode(): value.encode() for name, value in head.items()} | {DIGEST: digest.encode()}
    table = arrow.Table.from_pylist([dict(row) for row in rows], schema=schema.with_metadata(metadata))
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("wb") as file:
            parquet.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise refusal(path, error) from None
    return digest


def read_head(path: Path) -> tuple[str, int]:
    """The digest and the number of rows of a finished file."""
    arrow, parquet = _libraries()
    try:
        found = parquet.read_metadata(path)
    except (arrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet: {' '.join(str(error).split())}") from None
    return (found.metadata or {}).get(DIGEST, b"").decode(), found.num_rows


def _libraries() -> tuple[Any, Any]:
    try:
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ImportError as error:
        raise require_extra("scale", error) from None
    return pyarrow, pyarrow.parquet
