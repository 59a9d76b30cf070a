from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pyarrow.parquet import read_schema  # type: ignore[import-untyped]

from penstock.errors import DataError
from penstock.train import parquet
from penstock.train.table import NUMBERS, TraceTable, join, read_table


def altered(path: Path, change: Callable[[str], str]) -> None:
    text = gzip.decompress(path.read_bytes()).decode()
    path.write_bytes(gzip.compress(change(text).encode()))


def test_traces_are_read_sorted_whatever_their_order(traces: Path) -> None:
    path = next(iter(sorted(traces.glob("*.csv.gz"))))
    before = read_table(traces)
    altered(path, lambda text: "\n".join([(lines := text.splitlines())[0], *reversed(lines[1:])]) + "\n")
    after = read_table(traces)
    assert np.array_equal(before.values, after.values)
    assert np.array_equal(before.observation_no, after.observation_no)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace("cur_dirty_bytes", "dirty_now"), "column 'cur_dirty_bytes' is missing"),
        (
            lambda t: t.replace("\nseq_r_1_io_1m,1,7,5,", "\nseq_r_1_io_1m,one,7,5,"),
            "line 7: invalid",
        ),
        (lambda t: t.replace(",x,", ",x,-", 1), "is not a count"),
        (lambda t: t.replace(",x,0.", ",x,nan,", 1), "is not a count"),
        (lambda t: t + "seq_r_1_io_1m,1,7\n", "line 642: list index"),
        (lambda t: t + t.splitlines()[1] + "\n", "has observation_no 0 twice"),
        (lambda _: "", "column 'workload' is missing"),
    ],
)
def test_odd_traces_are_named(traces: Path, change: Callable[[str], str], message: str) -> None:
    altered(traces / "seq_r_1_io_1m.csv.gz", change)
    with pytest.raises(DataError, match=message):
        read_table(traces)


def test_damaged_and_missing_data_is_refused(traces: Path, tmp_path: Path) -> None:
    path = traces / "seq_r_1_io_1m.csv.gz"
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(DataError, match="cannot be read as gzipped CSV"):
        read_table(traces)
    with pytest.raises(DataError, match="not a directory"):
        read_table(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no"):
        read_table(tmp_path / "empty")


def test_a_file_without_rows_is_no_data(traces: Path) -> None:
    for path in traces.glob("*.csv.gz"):
        altered(path, lambda text: text.splitlines()[0] + "\n")
    with pytest.raises(DataError, match="hold no rows"):
        read_table(traces)


def test_parquet_round_trip_keeps_rows_and_origin(table: TraceTable, tmp_path: Path) -> None:
    path = tmp_path / "part.parquet"
    parquet.write(path, table, {"cluster": "c220g5", "seed": 3})
    found = parquet.read(path)
    assert np.array_equal(found.values, table.values)
    assert found.workload.tolist() == table.workload.tolist()
    assert json.loads(read_schema(path).metadata[b"penstock.provenance"]) == {"cluster": "c220g5", "seed": 3}
    assert list(tmp_path.glob("*.tmp")) == []


def test_parquet_of_another_schema_is_refused(table: TraceTable, tmp_path: Path) -> None:
    import pyarrow  # type: ignore[import-untyped]
    import pyarrow.parquet

    path = tmp_path / "other.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"workload": ["a"]}), path)
    with pytest.raises(DataError, match="schema None is not 1"):
        parquet.read(path)
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        parquet.read(path)


def test_node_wide_counters_are_split_among_targets(table: TraceTable, tmp_path: Path) -> None:
    second = replace(table, ost=table.ost + 1, values=table.values.copy())
    second.values[:, NUMBERS.index("read_bytes")] *= 3
    parquet.write(tmp_path / "both.parquet", join([table, second]), {})
    both = read_table(tmp_path)
    reading = both.column("read_bytes") > 0
    first = both.column("read_app_bytes")[reading & (both.ost == 7)]
    asked = table.column("read_app_bytes")[table.column("read_bytes") > 0]
    assert np.allclose(first, asked / 4)


def test_idle_targets_share_nothing_of_the_others_traffic(table: TraceTable, tmp_path: Path) -> None:
    idle = replace(table, ost=table.ost + 1, values=table.values.copy())
    idle.values[:, [NUMBERS.index(name) for name in ("read_bytes", "write_bytes")]] = 0.0
    parquet.write(tmp_path / "both.parquet", join([table, idle]), {})
    both = read_table(tmp_path)
    busy = np.isin(both.workload, ["seq_r_1_io_1m"]) & (both.ost == 7)
    assert np.allclose(both.column("read_app_bytes")[busy], both.column("read_bytes")[busy])
    assert (
        both.column("read_app_bytes")[np.isin(both.workload, ["seq_r_1_io_1m"]) & (both.ost == 8)] == 0
    ).all()
