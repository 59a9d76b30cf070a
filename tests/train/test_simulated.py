"""Collecting from the simulator and from a served client, from the first probe to samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock.train.collection import Collection, collect_simulated
from penstock.train.draws import draw_worlds
from penstock.train.samples import samples
from penstock.train.table import read_table
from penstock.train.worlds import DRAWN
from penstock.window import DIRECTIONS

# Worlds in which only one direction moves, and moves all the time.
APART = ("mixed", "several-jobs", "company", "bursty", "rewriting")


@pytest.mark.slow
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


def test_random_worlds_are_collected_and_held_out_one_by_one(tmp_path: Path) -> None:
    """A reader and a writer in turn: rows belong to the direction that moves more, and each world is a run."""
    names = tuple(
        world.name
        for world in (*draw_worlds(7, 1, ("reads",), APART), *draw_worlds(7, 1, ("writes",), APART))
    )
    wanted = Collection(tmp_path, DRAWN, names, 1, 10.0, 5)
    assert [run.number for run in wanted.plan()] == [1, 2]
    collect_simulated(wanted, 1, lambda text: None)
    table = read_table(tmp_path)
    assert set(table.workload) == set(names)
    for direction, name in zip(DIRECTIONS, names, strict=True):
        found = samples(table, direction, 1)
        assert len(found) >= 5
        assert set(table.workload[found.middle]) == {name}
        assert len(set(found.run)) == 1
