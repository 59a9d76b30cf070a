"""Reads IOR results: IOR's own JSON and CSV, and tables of runs that users keep.

Reading and parsing are separate: `read_runs` reads a file, `parse_csv` and `parse_json` are pure.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.errors import DataError, did_you_mean
from penstock.input_files import read_text
from penstock.units import KIB, MIB

MAX_DATA_BYTES = 500_000_000
# A run that moved less than this share of its bytes counts with the bytes it moved.
SHORT_SHARE = 0.95
# Rates and times are printed with few digits. Values computed from them are good to this many bits.
MOVED_BITS = 9
MOST_LABELS = 12
_STRIPED_PATH = re.compile(r"/W(\d{1,5})/penstock\.ior$")


@dataclass(frozen=True, slots=True)
class IorRun:
    """One timed write or read: every one of nodes x cores processes moved `burst_bytes`.

    `transfer_bytes` is the size of one call, `shared` whether all wrote one file; None where the data do not
    tell.
    """

    nodes: int
    cores: int
    burst_bytes: int
    stripes: int | None
    seconds: float
    transfer_bytes: int | None = None
    shared: bool | None = None
    operation: str = "write"


@dataclass(frozen=True, slots=True)
class Assumed:
    """What the user states about runs if the file does not: which rows to use (column and value), operation, files.

    `files` is `own`, `shared` or None for both.
    """

    cores: int | None = None
    stripes: int | None = None
    where: tuple[tuple[str, str], ...] = ()
    operation: str = "write"
    files: str | None = None


@dataclass(slots=True)
class Tally:
    """What happened to the rows read: how many were kept, how many were left out for which reason, and oddities."""

    read: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    mixed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: Runs that moved less than they were asked to; they count with what they moved.
    short: int = 0


# Column names as IOR, common tables and our own sampler spell them; the first that a file has is used.
_COLUMNS = {
    "operation": ("operation", "access"),
    "nodes": ("nodes", "numNodes", "m"),
    "cores": ("cores", "tasksPerNode", "clientsPerNode", "n"),
    "tasks": ("tasks", "numTasks", "#Tasks"),
    "burst_bytes": ("burst_bytes", "burst"),
    "block_bytes": ("blockSize",),
    "block_kib": ("block(KiB)", "blockKiB"),
    "segments": ("segments", "segmentCount"),
    "total_mib": ("aggregateFilesizeMB", "aggsize(MiB)"),
    "transfer_bytes": ("transfer_bytes", "transferSize"),
    "transfer_kib": ("xfer(KiB)", "xferKiB"),
    "rate_mib": ("trMiB", "bw(MiB/s)", "bwMiB"),
    "stripes": ("stripes", "stripeCount", "W"),
    "seconds": ("seconds", "totalTime", "total(s)", "MeanTime", "Mean(s)"),
}


def read_runs(path: Path, assumed: Assumed, tally: Tally | None = None) -> list[IorRun]:
    """Every usable run in a file. JSON is recognised by its first character."""
    text = read_text(path, MAX_DATA_BYTES)
    if not text.strip():
        raise DataError(f"{path}: empty")
    tally = Tally() if tally is None else tally
    parse = parse_json if text.lstrip()[:1] == "{" else parse_csv
    runs = list(parse(text, str(path), assumed, tally))
    if not runs:
        why = ", ".join(f"{count} {reason}" for reason, count in tally.left_out.items())
        raise DataError(
            f"{path}: holds no successful {assumed.operation}{f' (left out: {why})' if why else ''}"
        )
    return runs


def parse_csv(text: str, source: str, assumed: Assumed, tally: Tally | None = None) -> Iterator[IorRun]:
    """Runs of a table with a header line; the tally learns what was left out and why."""
    tally = Tally() if tally is None else tally
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    header = [name for name in reader.fieldnames or [] if name]
    column = {
        what: next((name for name in names if name in header), None) for what, names in _COLUMNS.items()
    }
    if column["seconds"] is None:
        raise DataError(f"{source}: no column of times ({', '.join(_COLUMNS['seconds'])}) in its header")
    for name, _ in assumed.where:
        if name not in header:
            raise DataError(f"{source}: no column {name!r} in its header{did_you_mean(name, header)}")
    others = _Labels([name for name in header if name not in column.values()], assumed)
    for row in reader:
        found = {what: row.get(name) for what, name in column.items() if name is not None}
        if all(value in (None, "") for value in found.values()):
            continue
        tally.read += 1
        if any(row.get(name) != value for name, value in assumed.where):
            tally.left_out["not as --where asks"] += 1
        elif found.get("operation", assumed.operation) != assumed.operation:
            tally.left_out[f"not a {assumed.operation}"] += 1
        else:
            others.see(row)
            yield from _run(found, f"{source}: line {reader.line_num}", assumed, tally)
    tally.mixed.update(others.mixed())


class _Labels:
    """The text columns with several values among the rows kept. Such a table mixes systems."""

    def __init__(self, names: Sequence[str], assumed: Assumed) -> None:
        chosen = {name for name, _ in assumed.where}
        self._seen: dict[str, set[str]] = {name: set() for name in names if name not in chosen}

    def see(self, row: Mapping[str, str | None]) -> None:
        for name, values in self._seen.items():
            value = row.get(name) or ""
            if len(values) <= MOST_LABELS and value and not _numeric(value):
                values.add(value)

    def mixed(self) -> dict[str, tuple[str, ...]]:
        return {
            name: tuple(sorted(values))
            for name, values in self._seen.items()
            if 1 < len(values) <= MOST_LABELS
        }


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def parse_json(text: str, source: str, assumed: Assumed, tally: Tally | None = None) -> Iterator[IorRun]:
    """Runs of IOR's summaryFormat=JSON, one per repetition."""
    tally = Tally() if tally is None else tally
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise DataError(f"{source}: not valid JSON: {error}") from None
    tests = document.get("tests") if isinstance(document, dict) else None
    if not isinstance(tests, list):
        raise DataError(f"{source}: key 'tests' is missing; write it with ior -O summaryFormat=JSON")
    for number, test in enumerate(tests):
        if not isinstance(test, dict):
            raise DataError(f"{source}: tests[{number}] is not a table")
        yield from _test_runs(test, f"{source}: tests[{number}]", assumed, tally)


def _test_runs(test: Mapping[str, Any], where: str, assumed: Assumed, tally: Tally) -> Iterator[IorRun]:
    given, shown = _section(test, "Parameters"), _section(test, "Options")
    common = {
        "tasks": shown.get("tasks", given.get("numTasks")),
        "cores": shown.get("clients per node", given.get("tasksPerNode")),
        "nodes": shown.get("nodes", given.get("nodes")),
        "block_bytes": given.get("blockSize"),
        "transfer_bytes": given.get("transferSize"),
        "segments": given.get("segmentCount", shown.get("segments")),
        "stripes": shown.get("stripe count", _named_stripes(given, shown)),
        "shared": _is_shared(given, shown),
    }
    # Versions differ in whether results hang off the test or its options, and nest repetitions in lists.
    for result in _flat(test.get("Results", shown.get("Results", []))):
        tally.read += 1
        if result.get("access") != assumed.operation:
            tally.left_out[f"not a {assumed.operation}"] += 1
            continue
        found = {
            **common,
            "seconds": result.get("totalTime"),
            "block_kib": result.get("blockKiB"),
            "transfer_kib": result.get("xferKiB"),
            "rate_mib": result.get("bwMiB"),
        }
        known = {key: value for key, value in found.items() if value is not None}
        yield from _run(known, where, assumed, tally)


def _is_shared(given: Mapping[str, Any], shown: Mapping[str, Any]) -> bool | None:
    if "filePerProc" in given:
        return not given["filePerProc"]
    access = str(shown.get("access", ""))
    return None if not access else "shared" in access


def _named_stripes(given: Mapping[str, Any], shown: Mapping[str, Any]) -> str | None:
    """The stripe count our own sampling script puts into the path, for an IOR built without Lustre."""
    match = _STRIPED_PATH.search(str(given.get("testFileName", shown.get("test filename", ""))))
    return match[1] if match else None


def _section(test: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = test.get(key)
    return value if isinstance(value, dict) else {}


def _flat(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list):
        for entry in value:
            yield from _flat(entry)


def _run(found: Mapping[str, Any], where: str, assumed: Assumed, tally: Tally) -> Iterator[IorRun]:
    seconds = _number(found, "seconds", where)
    shared = found.get("shared")
    if seconds is None or seconds <= 0:
        tally.left_out["failed: no time"] += 1
        return
    if assumed.files is not None and shared is not None and shared != (assumed.files == "shared"):
        tally.left_out[f"not to {assumed.files} files"] += 1
        return
    nodes, cores = _shape(found, where, assumed)
    burst = _burst(found, where, nodes * cores)
    transfer = _transfer(found, where)
    moved = whole_transfers(_moved(found, where, seconds) / (nodes * cores), transfer or 1)
    if 0 < moved < SHORT_SHARE * burst:
        tally.short += 1
        burst = moved
    stripes = _number(found, "stripes", where) if str(found.get("stripes", "")).strip().isdigit() else None
    count = assumed.stripes if stripes is None else int(stripes)
    yield IorRun(nodes, cores, burst, count, seconds, transfer, shared, assumed.operation)


def _moved(found: Mapping[str, Any], where: str, seconds: float) -> float:
    """The bytes a run really moved by its own rate, as exactly as rate and time are printed; 0 without a rate."""
    return (_number(found, "rate_mib", where) or 0.0) * seconds * MIB


def whole_transfers(moved_bytes: float, transfer_bytes: int) -> int:
    """The bytes one process moved, in whole calls and to the precision of printed figures (about a thousandth).

    Otherwise repetitions of one run would differ in the last digit and count as runs of different sizes.

    >>> whole_transfers(2.0013 * 4096, 4096), whole_transfers(2048.165 * 1024, 1024) == 2048 * 1024
    (8192, True)
    >>> whole_transfers(0.4, 1)
    0
    """
    calls = moved_bytes / transfer_bytes
    step = 1 << max(0, int(calls).bit_length() - MOVED_BITS)
    return max(round(calls / step) * step * transfer_bytes, round(moved_bytes) if calls < 1 else 0)


def _transfer(found: Mapping[str, Any], where: str) -> int | None:
    for what, factor in (("transfer_bytes", 1), ("transfer_kib", KIB)):
        value = _number(found, what, where)
        if value and value >= 1 / factor:
            return round(value * factor)
    return None


def _shape(found: Mapping[str, Any], where: str, assumed: Assumed) -> tuple[int, int]:
    """Nodes and processes per node, from any two of nodes, processes per node and processes."""
    tasks, cores, nodes = (_positive(found, what, where) for what in ("tasks", "cores", "nodes"))
    cores = assumed.cores or cores
    if cores is None and tasks is not None and nodes is not None:
        cores = -(-tasks // nodes)
    if nodes is None and tasks is not None and cores is not None:
        nodes = -(-tasks // cores)
    if nodes is None or cores is None:
        raise DataError(f"{where}: does not tell nodes and processes per node; pass --cores")
    return nodes, cores


def _burst(found: Mapping[str, Any], where: str, processes: int) -> int:
    segments = _number(found, "segments", where) or 1
    for what, factor in (("burst_bytes", 1.0), ("block_bytes", segments), ("block_kib", segments * KIB)):
        value = _number(found, what, where)
        if value:
            return _whole(value * factor, where)
    total = _number(found, "total_mib", where)
    if not total:
        raise DataError(f"{where}: does not tell how much a process wrote")
    return _whole(total * MIB / processes, where)


def _whole(size: float, where: str) -> int:
    if not 1 <= size < 2**60:
        raise DataError(f"{where}: a burst of {size:g} bytes")
    return round(size)


def _positive(found: Mapping[str, Any], what: str, where: str) -> int | None:
    value = _number(found, what, where)
    return None if value is None or value < 1 else int(value)


def _number(found: Mapping[str, Any], what: str, where: str) -> float | None:
    value = found.get(what)
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{where}: {what} {str(value)[:40]!r} is not a number")
    return number


def write_csv(runs: Sequence[IorRun]) -> str:
    """Runs in the form `parse_csv` reads back."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("operation", "nodes", "cores", "burst_bytes", "stripes", "transfer_bytes", "seconds"))
    for run in runs:
        sizes = ("" if size is None else size for size in (run.stripes, run.transfer_bytes))
        shape = (run.operation, run.nodes, run.cores, run.burst_bytes)
        writer.writerow((*shape, *sizes, f"{run.seconds:.6g}"))
    return out.getvalue()
