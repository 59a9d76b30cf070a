"""A small made-up data set in which settings really matter, so that fitting has something to find."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from penstock.predict.trees.forest import Floats
from penstock.train.table import NUMBERS, TraceTable, join
from penstock.train.traces import TRACE_COLUMNS


def made_up(workload: str, iterations: int = 4, rows: int = 160, seed: int = 0) -> TraceTable:
    """Throughput that grows with pages x flight up to a limit, in the workload's direction."""
    rng = np.random.default_rng(seed)
    direction = "write" if "_w_" in workload else "read"
    tables = []
    for iteration in range(1, iterations + 1):
        pages, flight = np.exp2(rng.integers(0, 11, rows)), np.exp2(rng.integers(0, 9, rows))
        seconds = rng.uniform(0.5, 0.53, rows)
        moved = np.minimum(pages * flight * 2e5, 1e8) * seconds * rng.uniform(0.97, 1.03, rows)
        values: dict[str, Floats] = dict.fromkeys(NUMBERS, np.zeros(rows))
        values |= {"seconds": seconds, "pages": pages, "flight": flight}
        values |= {f"{direction}_bytes": moved, f"{direction}_rpcs": np.ceil(moved / 4096 / pages)}
        values |= {f"{direction}_usec": moved / 100, f"{direction}_app_bytes": moved}
        values |= {f"{direction}_app_calls": np.ceil(moved / 2**20), "grant_bytes": np.full(rows, 1e9)}
        tables.append(
            TraceTable(
                np.array([workload] * rows),
                np.full(rows, iteration),
                np.full(rows, 7),
                np.arange(rows),
                np.stack([values[name] for name in NUMBERS], axis=-1),
            )
        )
    return join(tables)


def write_traces(path: Path, table: TraceTable) -> None:
    """The table as the traces' authors would have written it, with a column nobody asked for."""
    header = ["workload", "iteration", "ost", "observation_no", "extra", *TRACE_COLUMNS.values()]
    lines = [",".join(header)]
    order = [NUMBERS.index(name) for name in TRACE_COLUMNS]
    for row in range(len(table)):
        keys = [table.workload[row], table.iteration[row], table.ost[row], table.observation_no[row], "x"]
        lines.append(",".join(str(value) for value in (*keys, *table.values[row, order])))
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """A directory with one read and one write workload."""
    directory = tmp_path / "traces"
    directory.mkdir()
    for number, workload in enumerate(("seq_r_1_io_1m", "seq_w_1_io_1m")):
        write_traces(directory / f"{workload}.csv.gz", made_up(workload, seed=number))
    return directory


@pytest.fixture
def table() -> TraceTable:
    """The same data in memory."""
    return join([made_up("seq_r_1_io_1m"), made_up("seq_w_1_io_1m", seed=1)])
