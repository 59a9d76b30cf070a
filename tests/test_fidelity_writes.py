"""What real rows of writes are asked: a setting that drains faster shows under a backlog, whatever it inherits."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
from benchmarks import fidelity_writes
from benchmarks.fidelity_tuner import goals, section, tables

COLUMNS = (
    "iteration", "ost", "observation_no", "osc_rpc_configuration_current.mppr_value",
    "osc_rpc_configuration_current.mrif_value", "llite_stats_write_bytes.samples_sum",
    "ost_write_rpc_bytes_data.samples_sum", "actual_record_duration", "cur_dirty_bytes",
)  # fmt: skip


def intervals(rows: list[tuple[int, int, float, float, float]]) -> fidelity_writes.Floats:
    """Pages, flight, MB of the application and on the wire, and dirty MB before and after, half a second each."""
    return np.array([(pages, flight, app, wire, 0.5, mb, mb) for pages, flight, app, wire, mb in rows])


def test_setting_is_compared_with_the_default_over_all_intervals_and_under_a_backlog() -> None:
    part = intervals(
        [
            (64, 16, 60.0, 80.0, 400.0),
            (64, 16, 20.0, 80.0, 50.0),
            (1024, 8, 40.0, 50.0, 400.0),
            (1024, 8, 60.0, 50.0, 50.0),
        ]
    )
    found = fidelity_writes.echo([part, part], (64, 16))
    assert found["app"][0] == pytest.approx(0.8)
    assert found["wire"][0] == pytest.approx(1.6)
    assert found["app_backlog"] == pytest.approx([1.5, 1.5, 1.5])
    assert found["wire_backlog"][0] == pytest.approx(1.6)


def test_random_writes_are_compared_with_sequential_ones_by_knob_ost_and_time(tmp_path: Path) -> None:
    for kind, rate in (("seq", 100.0), ("rnd", 90.0)):
        with gzip.open(tmp_path / f"{kind}_w_1_io_1m.csv.gz", "wt", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for number in range(43):
                moved = rate * 1e6 / 2
                writer.writerow((1, 4, number, (64, 1024)[number % 2], 8, moved, moved, 0.5, 4e8))
    found = fidelity_writes.flash(tmp_path, "1m")
    assert found["whole"] == pytest.approx(0.9)
    assert found["by_knob"] == pytest.approx([0.9, 0.9])
    assert found["by_ost"] == {"4": pytest.approx(0.9)}
    assert found["random_first_last"] == pytest.approx([90.0, 90.0])


def test_simulated_walk_has_an_interval_for_every_visit_and_carries_dirty_data_over() -> None:
    walk = fidelity_writes.simulated_intervals("s_wr_rn_8k", "c220g5", 0.6)
    assert len(walk) == 99
    assert set(map(tuple, walk[:, :2])) >= {(64.0, 16.0), (1024.0, 8.0)}
    assert (walk[1:, fidelity_writes.BEFORE] == walk[:-1, fidelity_writes.AFTER]).all()


def test_goals_of_a_tuner_fail_where_a_best_setting_loses_in_reality() -> None:
    row = {
        "workload": "rnd_r_1_io_1m",
        "setting": [8, 32],
        "simulated": 2.0,
        "real": 1.8,
        "real_optimum": 1.9,
    }
    worse = {**row, "workload": "seq_r_1_io_1m", "real": 0.9}
    document = {"settings": [row, worse], "replay": {"carat": {"rnd_r_1_io_1m": 1.2}}}
    assert [met for _, _, met in goals(document)] == [True, False, True]
    told = section(document)
    assert "brings 1.273 of the default in reality over 2 workloads" in told
    assert "1.200 (`carat`)" in told
    assert "| rnd_r_1_io_1m | 8 x 32 | 2.00 | 1.80 | 1.90 | 1.20 |" in tables(document)
