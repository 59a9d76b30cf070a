"""IOR's own results: the write bandwidth of every repetition, from its JSON output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock.errors import DataError
from penstock.input_files import read_text
from penstock.units import MIB

MOST_BYTES = 256 << 20


def read_ior(path: Path) -> tuple[float, ...]:
    """Bytes per second of each write in the file that `ior -O summaryFormat=JSON` wrote."""
    return parse_ior(read_text(path, MOST_BYTES), str(path))


def parse_ior(text: str, source: str) -> tuple[float, ...]:
    """Read the results of all tests; a file without a write is an error."""
    try:
        results = [result for test in json.loads(text)["tests"] for result in test["Results"]]
        found = tuple(_bandwidth(result) * MIB for result in results if result.get("access") == "write")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{source}: not IOR's JSON output: {error!r}") from None
    if not found:
        raise DataError(f"{source}: holds no write")
    return found


def _bandwidth(result: dict[str, Any]) -> float:
    return float(result["bwMiB"])
