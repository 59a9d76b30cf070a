"""A table of measurements: one row per target and interval, from any kind of file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from penstock.errors import DataError
from penstock.predict.features import MEASURES
from penstock.predict.trees.forest import Floats

Ints = NDArray[np.int64]
Words = NDArray[np.str_]

# Columns that every file must have, besides those that identify the row.
SHARED = ("seconds", "pages", "flight", "dirty_bytes", "grant_bytes")
PER_DIRECTION = ("bytes", "rpcs", "usec", "app_bytes", "app_calls")
NUMBERS = (*SHARED, *(f"{direction}_{name}" for direction in ("read", "write") for name in PER_DIRECTION))


@dataclass(frozen=True, slots=True, eq=False)
class TraceTable:
    """Rows sorted by workload, iteration, target and observation; `values` has one column per `NUMBERS`."""

    workload: Words
    iteration: Ints
    ost: Ints
    observation_no: Ints
    values: Floats

    def __len__(self) -> int:
        return len(self.workload)

    def column(self, name: str) -> Floats:
        """One of `NUMBERS`."""
        return self.values[:, NUMBERS.index(name)]

    def measures(self, direction: str) -> Floats:
        """What the feature vector is made from, for one direction."""
        return np.stack(
            [self.column(name if name in SHARED else f"{direction}_{name}") for name in MEASURES], axis=-1
        )

    def series(self) -> Ints:
        """A number per row that is equal within, and only within, one (workload, iteration, target)."""
        first = np.ones(len(self), dtype=np.bool_)
        same = (
            (self.workload[1:] == self.workload[:-1])
            & (self.iteration[1:] == self.iteration[:-1])
            & (self.ost[1:] == self.ost[:-1])
        )
        first[1:] = ~same
        return np.cumsum(first) - 1

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> TraceTable:
        return replace(self, **{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def read_tables(directories: Sequence[Path]) -> TraceTable:
    """Several directories as one data set. The same run must not occur twice."""
    table = join([read_table(directory) for directory in directories])
    _refuse_duplicates(table, ", ".join(str(directory) for directory in directories))
    return table


def read_table(directory: Path) -> TraceTable:
    """All measurements in a directory.

    `*.csv.gz` are as the CARAT authors' traces, `*.parquet` what `collect` wrote, `*.jsonl.gz` recordings of held
    settings.
    """
    from penstock.train import heldtable, parquet, traces
    from penstock.train.held import is_held

    if not directory.is_dir():
        raise DataError(f"{directory}: not a directory with *.csv.gz, *.parquet or *.jsonl.gz files")
    tables = [traces.read(path) for path in sorted(directory.glob("*.csv.gz"))]
    tables += [parquet.read(path) for path in sorted(directory.glob("*.parquet"))]
    tables += [heldtable.read(directory)] if is_held(directory) else []
    if not tables:
        raise DataError(f"{directory}: holds no *.csv.gz, *.parquet or *.jsonl.gz files")
    table = join(tables)
    if not len(table):
        raise DataError(f"{directory}: its files hold no rows")
    _refuse_duplicates(table, str(directory))
    return _share_application(table)


def join(tables: list[TraceTable]) -> TraceTable:
    """Several tables as one, sorted."""
    columns = {
        field.name: np.concatenate([getattr(table, field.name) for table in tables])
        for field in fields(TraceTable)
    }
    table = TraceTable(**columns)
    return table.take(np.lexsort((table.observation_no, table.ost, table.iteration, table.workload)))


def _refuse_duplicates(table: TraceTable, source: str) -> None:
    same = (np.diff(table.series()) == 0) & (np.diff(table.observation_no) == 0)
    if same.any():
        row = int(np.argmax(same))
        raise DataError(
            f"{source}: workload {table.workload[row]} iteration {table.iteration[row]} "
            f"ost {table.ost[row]} "
            f"has observation_no {table.observation_no[row]} twice"
        )


def _share_application(table: TraceTable) -> TraceTable:
    """Divide the node-wide application counters among the targets of a node.

    A target's share is that of its RPC bytes. If nothing was sent, it is that of the growth of its dirty bytes; if
    nothing grew either, shares are equal. This is the rule of `penstock.window`.
    """
    moment = _moments(table)
    growth = np.zeros(len(table))
    inside = np.diff(table.series()) == 0
    growth[1:][inside] = np.maximum(np.diff(table.column("dirty_bytes"))[inside], 0.0)
    values = table.values.copy()
    for direction in ("read", "write"):
        part = _parts(moment, [table.column(f"{direction}_bytes"), growth, np.ones(len(table))])
        for name in ("app_bytes", "app_calls"):
            values[:, NUMBERS.index(f"{direction}_{name}")] *= part
    return replace(table, values=values)


def _moments(table: TraceTable) -> NDArray[np.intp]:
    """A number per row that is equal for all targets of one node at one probe."""
    order = np.lexsort((table.observation_no, table.iteration, table.workload))
    new = np.zeros(len(table), dtype=np.bool_)
    for key in (table.workload, table.iteration, table.observation_no):
        new[1:] |= key[order][1:] != key[order][:-1]
    moment = np.empty(len(table), dtype=np.intp)
    moment[order] = np.cumsum(new)
    return moment


def _parts(moment: NDArray[np.intp], weights: list[Floats]) -> Floats:
    part = np.full(len(moment), np.nan)
    for weight in weights:
        total = np.bincount(moment, weight)[moment]
        open_rows = np.isnan(part) & (total > 0)
        part[open_rows] = weight[open_rows] / total[open_rows]
    return part
