"""Collecting from the simulator and from a served client, from the first probe to samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from penstock.train.collection import Collection, collect_simulated
from penstock.train.samples import samples
from penstock.train.table import read_table


def test_simulated_runs_are_kept_resumed_and_repeatable(tmp_path: Path) -> None:
    said: list[str] = []
    wanted = Collection(tmp_path / "one", "c220g5", ("s_rd_rn_1m",), 1, 10.0, 5)
    files = collect_simulated(wanted, 1, said.append)
    assert [path.exists() for path in files] == [True]
    again = Collection(tmp_path / "two", "c220g5", ("s_rd_rn_1m",), 1, 10.0, 5)
    collect_simulated(again, 1, said.append)
    first, second = read_table(tmp_path / "one"), read_table(tmp_path / "two")
    assert np.array_equal(first.values, second.values, equal_nan=True)
    before = files[0].stat().st_mtime_ns
    collect_simulated(wanted, 1, said.append)
    assert files[0].stat().st_mtime_ns == before
    found = samples(first, "read", 1)
    assert len(found) >= 15
    assert not np.isnan(found.past[:, : found.past.shape[1] // 2]).any(axis=0).all()
