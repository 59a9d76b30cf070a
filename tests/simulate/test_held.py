"""Held settings: programs as they were recorded, and surfaces that look like the recorded ones."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from benchmarks.held import FILE_BYTES, held_script, run_held

from penstock.errors import UsageError
from penstock.knobs import Setting
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.kernel.records import READ, WRITE
from penstock.units import MIB

DEFAULT = Setting(pages=1024, flight=8, dirty=256)


def test_reads_visit_every_block_once_and_threads_share_them() -> None:
    script = held_script("rr_1m_4", seed=3)
    assert len(script.tasks) == 4
    offsets = [int(page) for task in script.tasks for page in task.ops["page"]]
    assert sorted(offsets) == list(range(0, FILE_BYTES // 4096, 256))
    assert offsets != sorted(offsets)
    assert not any(task.repeats or task.flushes for task in script.tasks)


def test_writes_go_on_and_end_with_a_flush() -> None:
    (task,) = held_script("sw_1m_1", seed=3).tasks
    assert task.repeats and task.flushes
    assert (task.ops["kind"] == WRITE).all()
    assert (np.diff(task.ops["page"]) == 256).all()


def test_mixed_workload_has_a_file_for_each_program() -> None:
    script = held_script("mix_rr_sw_1m", seed=3)
    assert [int(task.ops["kind"][0]) for task in script.tasks] == [READ, READ, WRITE]
    assert len(script.files) == 2
    held = run_held(builtin_cluster("emulated-2ms"), "mix_rr_sw_1m", DEFAULT, 1)
    assert len(held.mbps) == 2


@pytest.mark.parametrize("name", ["rr_1m", "xx_1m_4", "rr_1m_4_"])
def test_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        held_script(name, 1)


def test_flush_counts_and_reads_may_end_early() -> None:
    slow = run_held(builtin_cluster("emulated-10ms"), "sw_1m_1", Setting(pages=16, flight=1, dirty=256), 1)
    assert slow.seconds > 30.0
    quick = builtin_cluster("c220g5")
    assert run_held(quick, "sr_1m_1", DEFAULT, 1).seconds == pytest.approx(FILE_BYTES / 500e6, rel=0.3)


def measured(shared_dir: Path, link: str, work: str) -> dict[tuple[int, int], float]:
    with (shared_dir / "data" / "lustre-latency" / "cells.csv").open(newline="", encoding="utf-8") as lines:
        return {
            (int(row["pages"]), int(row["flight"])): float(row["mbps"])
            for row in csv.DictReader(lines)
            if (row["link"], row["workload"], row["repeat"]) == (link, work, "1")
        }


@pytest.mark.parametrize(
    ("link", "cluster", "work", "least"),
    [
        ("rtt10", "emulated-10ms", "rw_1m_4", 0.85),
        ("rtt2", "emulated-2ms", "sr_1m_1", 0.80),
        ("rtt2", "emulated-2ms", "sw_1m_1", 0.75),
    ],
)
def test_held_settings_rank_like_the_recorded_ones(
    shared_dir: Path, link: str, cluster: str, work: str, least: float
) -> None:
    real = measured(shared_dir, link, work)
    assert len(real) == 17
    pairs = np.array(
        [
            (
                value,
                sum(run_held(builtin_cluster(cluster), work, Setting(pages=p, flight=f, dirty=256), 1).mbps),
            )
            for (p, f), value in real.items()
        ]
    )
    ranks = pairs.argsort(axis=0).argsort(axis=0)
    assert np.corrcoef(ranks[:, 0], ranks[:, 1])[0, 1] >= least
    assert pairs[:, 1].mean() == pytest.approx(pairs[:, 0].mean(), rel=0.25)


def test_large_rpcs_pay_where_a_core_is_slow() -> None:
    cluster = builtin_cluster("emulated-10ms")
    small = run_held(cluster, "rr_1m_4", Setting(pages=16, flight=64, dirty=256), 1)
    assert run_held(cluster, "rr_1m_4", DEFAULT, 1).mbps[0] > 1.15 * small.mbps[0]
    one = run_held(cluster, "rr_1m_4", Setting(pages=64, flight=1, dirty=256), 1)
    assert run_held(cluster, "rr_1m_4", DEFAULT, 1).mbps[0] > 1.8 * one.mbps[0]
    assert one.totals.app_bytes % MIB == 0
