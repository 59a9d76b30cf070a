"""Table V: where its processes lie, what is compared, and beside which real figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import table_v

from penstock.evaluate.independent import PAIRS, plan_of
from penstock.evaluate.request import Request
from penstock.simulate.cluster import builtin_cluster

CSV = """w_pages,w_flight,r_pages,r_flight,rep,w_mbps,r_mbps,more
1024,8,1024,8,a,10,30,1
1024,8,1024,8,b,30,50,1
64,1,1024,8,a,10,60,1
"""


@pytest.mark.parametrize("name", PAIRS)
def test_pair_has_an_ost_each_on_one_server_or_on_two(name: str) -> None:
    cluster = builtin_cluster("c220g5")
    plan = plan_of(Request(("default",), 1.0, cluster=cluster), name, 0)
    writer, reader = (job.osts[0] for job in plan.jobs)
    servers = {ost // cluster.layout.osts_per_oss for ost in (writer, reader)}
    assert writer != reader
    assert len(servers) == (1 if name.endswith("one-server") else 2)


def test_real_repeats_are_averaged_before_ratios_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "table_v.csv"
    path.write_text(CSV)
    real = table_v.ratios(table_v.measured(path))
    assert real == {(1024, 8, 1024, 8): (1.0, 1.0), (64, 1, 1024, 8): (0.5, 1.5)}


def test_twin_runs_writer_and_reader_at_settings_of_their_own(tmp_path: Path) -> None:
    cells = [(1024, 8, 1024, 8), (64, 1, 1024, 8)]
    found = table_v.ratios(table_v.simulated(cells, 2.0))
    assert found[1024, 8, 1024, 8] == (1.0, 1.0)
    assert found[64, 1, 1024, 8] != (1.0, 1.0)
    assert "| 64 x 1 | 1024 x 8 |" in table_v.table(found, found)
