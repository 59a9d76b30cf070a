"""Simulated readahead as a served mount shows it: an observer sees what the simulator counts, and knobs act."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.emulate.served_node import NodePlan, ServedNode
from penstock.emulate.simulator_reading import SimulatedReadingClient
from penstock.emulate.treelayout import load_layout
from penstock.knobs.target_kind import READAHEAD
from penstock.observe.collector import LustreObserver
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.reading.reading_client import ReadingClient
from penstock.simulate.reading.reading_workloads import parse_reading
from penstock.snapshot import TargetSnapshot


def made(workload: str, layout: str = "2.15") -> tuple[ServedNode, ReadingClient]:
    cluster = builtin_cluster("emulated-10ms")
    client = ReadingClient(cluster, parse_reading(workload))
    plan = NodePlan(load_layout(layout), 2, cluster.client.ram_gb, cores=cluster.client.cores)
    return ServedNode(plan, SimulatedReadingClient(client)), client


def seen(node: ServedNode, root: Path) -> dict[str, TargetSnapshot]:
    """What an observer makes of the tree, written down as plain files."""
    for path, file in node.tree.files.items():
        if file.read is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(file.text())
    observer = LustreObserver(root)
    observer.kinds = ("data", READAHEAD)
    try:
        return {one.target.resource: one for one in observer.observe().targets}
    finally:
        observer.close()


@pytest.mark.parametrize("layout", ["2.15", "2.17"])
@pytest.mark.parametrize("workload", ["ra_seq_1m_1", "ra_rand_1m_4", "ra_stride_1m_1"])
def test_observer_of_the_tree_sees_what_the_simulator_counts(
    workload: str, layout: str, tmp_path: Path
) -> None:
    node, client = made(workload, layout)
    node.advance(3.0)
    found = seen(node, tmp_path)
    mount, path, idle = found["readahead"].counters, found["OST0000"].counters, found["OST0001"].counters
    assert mount["read.bytes"] == client.reads.bytes > 0
    assert mount["read.rpcs"] == client.reads.calls
    assert mount["read.usec"] == pytest.approx(client.reads.usec, abs=1.0)
    assert mount["read.carried_bytes"] == path["read.bytes"] == client.carried_bytes > 0
    assert path["read.rpcs"] == client.path.traffic.requests
    assert not idle.get("read.bytes")


def test_fresh_mount_begins_with_what_its_files_say() -> None:
    node, client = made("ra_seq_1m_1")
    assert client.setting.only(*node.readahead.setting) == node.readahead.setting
    node.readahead.store_file("100")
    assert client.setting["ahead_file"] == 100
    node.unmount()
    node.mount()
    assert client.setting["ahead_file"] == node.readahead.setting["ahead_file"] != 100


def test_knobs_of_the_tree_reach_the_simulation() -> None:
    node, client = made("ra_seq_1m_1")

    def rate() -> float:
        node.advance(1.0)
        before = client.reads.bytes
        node.advance(8.0)
        return (client.reads.bytes - before) / 8.0

    default = rate()
    node.readahead.store_file("4")
    assert rate() < 0.85 * default
    node.readahead.store_file("100")
    assert rate() > 1.1 * default
    ahead = next(file for path, file in node.tree.files.items() if path.endswith("/read_ahead_stats"))
    assert "async_readahead" in ahead.text()
    node.osc("OST0000").write("max_pages_per_rpc", "64")
    node.osc("OST0000").write("max_rpcs_in_flight", "1")
    assert client.setting["pages"] == 64
    assert rate() < 0.7 * default
