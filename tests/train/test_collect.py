from __future__ import annotations

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from pyarrow.parquet import read_schema  # type: ignore[import-untyped]

from penstock.campaign.shards import unfinished
from penstock.decision import Receipt
from penstock.errors import UsageError
from penstock.knobs import KnobSpace, Setting
from penstock.ports import Ports
from penstock.snapshot import NodeSnapshot, Target, TargetSnapshot
from penstock.spaces import LUSTRE
from penstock.train import parquet
from penstock.train.collect import CollectedRun, RunFiles, Walk, tabulate, walk
from penstock.train.collection import Collection
from penstock.train.samples import samples


class Toy:
    """Clock, observer and actuator of one target that moves what its window allows."""

    def __init__(self) -> None:
        self.t_s = 0.0
        self.target = Target("toy-OST0000", "toy")
        self.setting = LUSTRE.default
        self.moved = self.rpcs = 0.0
        self.epoch = 0

    def now(self) -> float:
        return self.t_s

    def sleep_until(self, t_s: float) -> None:
        moved = min(self.setting["pages"] * self.setting["flight"] * 1e5, 1e8) * (t_s - self.t_s)
        self.moved += moved
        self.rpcs += moved / 4096 / self.setting["pages"]
        self.t_s = t_s

    def observe(self) -> NodeSnapshot:
        counters = {"read.bytes": self.moved, "read.rpcs": self.rpcs, "read.usec": self.moved / 50}
        gauges = {"dirty.bytes": 0.0, "grant.bytes": 1e9}
        seen = TargetSnapshot(self.target, self.t_s, self.setting, counters, gauges, self.epoch)
        return NodeSnapshot(self.t_s, (seen,), {"toy": {"app.read_bytes": self.moved, "app.read_calls": 9.0}})

    def space(self, target: Target) -> KnobSpace:
        return LUSTRE

    def get(self, target: Target) -> Setting:
        return self.setting

    def original(self, target: Target) -> Setting:
        return LUSTRE.default

    def set(self, target: Target, wanted: Setting) -> Receipt:
        self.setting = LUSTRE.settle(self.setting, wanted)
        return Receipt(target, wanted, self.setting)

    def restore(self, target: Target) -> Receipt:
        return self.set(target, LUSTRE.default)


def how(intervals: int = 40) -> Walk:
    return Walk(LUSTRE.candidates(), intervals, 0.5, "seed")


def test_walk_draws_a_new_setting_each_interval_and_windows_carry_it() -> None:
    toy = Toy()
    seen = list(walk(Ports(toy, toy, toy), how()))
    rng = Random("seed")
    expected = [rng.choice(LUSTRE.candidates()) for _ in range(40)]
    assert [number for number, _ in seen] == list(range(40))
    assert [window.setting.only("pages", "flight") for _, window in seen] == expected
    for _, window in seen:
        allowed = min(window.setting["pages"] * window.setting["flight"] * 1e5, 1e8)
        assert window.moved_per_s == pytest.approx(allowed)


def test_rows_become_samples() -> None:
    toy = Toy()
    table = tabulate("s_rd_sq_1m", 3, list(walk(Ports(toy, toy, toy), how())))
    found = samples(table, "read", 1)
    assert len(found) == 38
    rate = table.column("read_bytes") / table.column("seconds")
    assert found.label.tolist() == (rate[found.middle + 1] > 1.15 * rate[found.middle]).tolist()


def test_an_interval_that_cannot_be_trusted_leaves_a_gap() -> None:
    class Reconnecting(Toy):
        def sleep_until(self, t_s: float) -> None:
            super().sleep_until(t_s)
            self.epoch += t_s == 5.0

    toy = Reconnecting()
    table = tabulate("s_rd_sq_1m", 1, list(walk(Ports(toy, toy, toy), how())))
    assert 9 not in table.observation_no
    assert not {8, 9, 10} & set(table.observation_no[samples(table, "read", 0).middle].tolist())


def test_a_kept_run_is_not_repeated_and_says_where_it_comes_from(tmp_path: Path) -> None:
    toy = Toy()
    runs = [CollectedRun("c220g5", "s_rd_sq_1m", number, 7, 40, 0.5) for number in (1, 2)]
    table = tabulate("s_rd_sq_1m", 1, list(walk(Ports(toy, toy, toy), how())))
    RunFiles(tmp_path, "a toy").keep(runs[0].id, runs[0], table)
    assert unfinished({run.id: run for run in runs}, RunFiles(tmp_path, "a toy")) == {runs[1].id: runs[1]}
    schema = read_schema(runs[0].path(tmp_path))
    origin = json.loads(schema.metadata[b"penstock.provenance"])
    assert (origin["cluster"], origin["seed"], origin["run"]) == ("c220g5", 7, runs[0].id)
    assert np.isfinite(parquet.read(runs[0].path(tmp_path)).column("read_bytes")).all()


def test_a_collection_plans_distinct_runs_and_refuses_unknown_workloads(tmp_path: Path) -> None:
    runs = Collection(tmp_path, "c220g5", ("s_rd_sq_1m", "s_wr_sq_1m"), 3, 10.0, 1).plan()
    assert len({run.id for run in runs}) == 6
    assert {run.intervals for run in runs} == {20}
    with pytest.raises(UsageError, match="unknown workload"):
        Collection(tmp_path, "c220g5", ("s_rd_sq_1x",), 1, 10.0, 1).plan()
