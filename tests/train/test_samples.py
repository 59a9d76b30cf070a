from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from penstock.errors import DataError
from penstock.predict import features
from penstock.train.samples import direction_of, samples
from penstock.train.table import NUMBERS, TraceTable, read_table

BYTES = NUMBERS.index("read_bytes")


def rows(
    moved: list[float], seconds: list[float] | None = None, numbers: list[int] | None = None
) -> TraceTable:
    count = len(moved)
    values = np.ones((count, len(NUMBERS)))
    values[:, BYTES] = moved
    values[:, NUMBERS.index("seconds")] = seconds or [0.5] * count
    values[:, NUMBERS.index("pages")] = [2.0 ** (i % 11) for i in range(count)]
    order = np.arange(count) if numbers is None else np.array(numbers)
    return TraceTable(
        np.array(["seq_r_1_io_1m"] * count), np.ones(count, int), np.ones(count, int), order, values
    )


def test_a_sample_needs_three_rows_with_traffic_in_the_middle_and_the_last() -> None:
    found = samples(rows([0, 1, 1, 0, 1, 1, 1]), "read", 0)
    assert found.middle.tolist() == [1, 4, 5]


def test_the_first_and_last_row_of_a_series_are_no_middle() -> None:
    assert samples(rows([1, 1]), "read", 0).middle.tolist() == []
    assert samples(rows([1, 1, 1]), "read", 0).middle.tolist() == [1]


def test_rows_across_a_gap_are_not_consecutive() -> None:
    assert samples(rows([1, 1, 1, 1, 1], numbers=[0, 1, 2, 4, 5]), "read", 0).middle.tolist() == [1]


def test_the_label_compares_bytes_per_second() -> None:
    found = samples(rows([1, 100, 116, 100, 115], seconds=[1, 1, 1, 1, 1]), "read", 0)
    assert found.label.tolist() == [True, False, False]
    halved = samples(rows([1, 100, 60], seconds=[1, 1, 0.5]), "read", 0)
    assert halved.label.tolist() == [True]


def test_the_candidate_is_the_last_rows_setting_and_its_measurements_are_not_used() -> None:
    table = rows([5, 5, 5, 5])
    found = samples(table, "read", 1)
    assert found.candidate[:, 0].tolist() == [2.0, 3.0]
    altered = table.values.copy()
    altered[3, [i for i, name in enumerate(NUMBERS) if name not in ("pages", "flight", "read_bytes")]] = 77.0
    again = samples(replace(table, values=altered), "read", 1)
    assert np.array_equal(again.past, found.past, equal_nan=True)


def test_the_past_ends_where_the_series_begins() -> None:
    found = samples(rows([1, 1, 1, 1]), "read", 2)
    width = len(features.row_names("read"))
    assert not np.isnan(found.past[:, width]).any()
    assert np.isnan(found.past[:, width + 1]).tolist() == [True, False]


def test_direction_comes_from_the_workload() -> None:
    assert [direction_of(name) for name in ("rnd_r_1_io_8k", "s_wr_sq_1m")] == ["read", "write"]
    with pytest.raises(DataError, match="names no direction"):
        direction_of("mystery")


def test_samples_of_the_real_traces(shared_dir: Path) -> None:
    table = read_table(shared_dir / "data" / "lustre-traces")
    counts = {name: samples(table, name, 0) for name in ("read", "write")}
    assert {name: len(found) for name, found in counts.items()} == {"read": 74371, "write": 58882}
    assert {name: int(found.label.sum()) for name, found in counts.items()} == {"read": 20300, "write": 8096}
