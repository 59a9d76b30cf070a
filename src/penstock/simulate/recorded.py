"""Recorded requests played on the simulator: when they happened, or as soon as what came before is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penstock.errors import DataError
from penstock.simulate.kernel.client_records import OP
from penstock.simulate.kernel.records import PAGE, READ, WRITE
from penstock.simulate.script import NOT_BEFORE, Script, ScriptFile, Task
from penstock.units import GIB

Column = np.ndarray[Any, Any]
OPS = ("read", "write")


@dataclass(frozen=True, slots=True)
class Requests:
    """A recorded stream of requests, one a row.

    `stream` is a thread or rank of its client, `file` an index into `names`, `op` 0 for reads and 1 for writes.
    `seconds` is how long the request took when it was recorded, zero where unknown.
    """

    t_s: Column
    client: Column
    stream: Column
    file: Column
    op: Column
    offset: Column
    size: Column
    seconds: Column
    names: tuple[str, ...]

    @property
    def clients(self) -> int:
        """How many clients they came from."""
        return int(self.client.max(initial=0)) + 1

    @property
    def span_s(self) -> float:
        """From the first request's start to the last one's recorded end."""
        return float((self.t_s + self.seconds).max(initial=0.0))

    def __len__(self) -> int:
        return len(self.t_s)


def play(
    requests: Requests, name: str, loop: Literal["open", "closed"], cache_bytes: int = 90 * GIB
) -> Script:
    """The requests as a script that runs once; files lie on one OST each, in turn.

    `open`: a request starts at its recorded time, or when its stream is done with the one before, if that is later.
    `closed`: a stream pauses between two requests as long as it did when recorded, and the pace follows the system.
    """
    if len(requests) == 0:
        raise DataError(f"{name}: no requests")
    files = _files(requests)
    order = np.lexsort((np.arange(len(requests)), requests.t_s, requests.stream, requests.client))
    keys = np.stack([requests.client[order], requests.stream[order]])
    cuts = np.flatnonzero((np.diff(keys) != 0).any(axis=0)) + 1
    tasks = []
    for rows in np.split(order, cuts):
        tasks.append(Task(int(requests.client[rows[0]]), _ops(requests, rows, loop), repeats=False))
    return Script(name, files, tuple(tasks), (), cache_bytes)


def _files(requests: Requests) -> tuple[ScriptFile, ...]:
    sizes = np.zeros(len(requests.names), dtype=np.int64)
    np.maximum.at(sizes, requests.file, requests.offset + requests.size)
    return tuple(ScriptFile(max(1, int(size)), (number,)) for number, size in enumerate(sizes))


def _ops(requests: Requests, rows: Column, loop: str) -> Column:
    ops = np.zeros(len(rows), dtype=OP)
    offset, size, t_s = requests.offset[rows], requests.size[rows], requests.t_s[rows]
    ops["kind"] = np.where(requests.op[rows] == 0, READ, WRITE)
    ops["handle"], ops["fan"], ops["count"] = requests.file[rows], 1, 1
    ops["page"] = offset // PAGE
    ops["pages"] = np.maximum(1, -(-(offset + size) // PAGE) - ops["page"])
    ops["bytes"] = size
    ops["at_us"] = NOT_BEFORE
    if loop == "open":
        ops["at_us"] = t_s * 1e6
    else:
        ended_s = np.concatenate([[0.0], (t_s + requests.seconds[rows])[:-1]])
        ops["think_us"] = np.maximum(0.0, t_s - ended_s) * 1e6
    return ops


def from_rows(rows: Sequence[tuple[float, int, int, str, str, int, int, float]]) -> Requests:
    """Requests from tuples (t, client, stream, file, op, offset, bytes, seconds), times counted from the first."""
    names = tuple(dict.fromkeys(row[3] for row in rows))
    number = {name: n for n, name in enumerate(names)}
    t_s = np.array([row[0] for row in rows], dtype=float)
    integers = [np.array([row[column] for row in rows], dtype=np.int64) for column in (1, 2, 5, 6)]
    return Requests(
        t_s=t_s - t_s.min(initial=np.inf) if len(rows) else t_s,
        client=integers[0],
        stream=integers[1],
        file=np.array([number[row[3]] for row in rows], dtype=np.int64),
        op=np.array([OPS.index(row[4]) for row in rows], dtype=np.int64),
        offset=integers[2],
        size=integers[3],
        seconds=np.array([row[7] for row in rows], dtype=float),
        names=names,
    )
