"""The calls of a simulated client's applications as its served mount counts them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.emulate.served_node import NodePlan, ServedNode
from penstock.emulate.simulator_client import SimulatorClient
from penstock.emulate.treelayout import load_layout
from penstock.observe.lustre.llite import parse_mount
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.probe import FS, Probe
from penstock.simulate.simulation import Simulation
from penstock.units import MIB
from penstock.workload import parse_workload

CALLS = ("app.opens", "app.closes", "app.fsyncs", "app.fsync_usec", "app.write_bytes")


@pytest.mark.parametrize("layout", ["2.15", "2.17"])
def test_served_mount_counts_opens_closes_and_fsyncs_as_the_simulation_does(layout: str) -> None:
    work = replace(parse_workload("s_wr_sq_1m"), file_bytes=256 * MIB)
    job = Job(work, fsync_bytes=16 * MIB, close_bytes=64 * MIB)
    cluster = builtin_cluster("c220g5")
    made = Simulation(Plan(cluster, (job,), 1, 1))
    node = ServedNode(
        NodePlan(load_layout(layout), cluster.layout.ost_count, cluster.client.ram_gb), SimulatorClient(made)
    )
    (stats,) = (
        file for path, file in node.tree.files.items() if "/llite/" in path and path.endswith("/stats")
    )
    assert parse_mount((stats.text().encode(), None))["app.fsyncs"] == 0
    node.advance(2.0)
    text = stats.text()
    seen, told = parse_mount((text.encode(), None)), Probe(made).observe().mounts[FS]
    assert {name: seen[name] for name in CALLS} == {name: told[name] for name in CALLS}
    assert min(seen[name] for name in CALLS) > 0
    rows = [line.split()[0] for line in text.splitlines()[3:]]
    assert rows == ["write_bytes", "open", "close", "fsync"], "in the order of a real client"
    stats.store("clear")
    assert parse_mount((stats.text().encode(), None))["app.fsyncs"] == 0
