"""Simulated metadata as a served mount shows it: an observer sees the operations that the simulator counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.emulate.served_node import NodePlan, ServedNode
from penstock.emulate.simulator_metadata import SimulatedMetadataClient
from penstock.emulate.treelayout import load_layout
from penstock.knobs.target_kind import METADATA
from penstock.observe.collector import LustreObserver
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.metadata.metadata_probe import MetadataWorld
from penstock.simulate.metadata.workloads import parse_metadata
from penstock.snapshot import TargetSnapshot


def made(workload: str, layout: str = "2.15") -> tuple[ServedNode, MetadataWorld]:
    cluster = builtin_cluster("emulated-10ms").override({"metadata.mod_rpcs": "16"})
    world = MetadataWorld(cluster, parse_metadata(workload))
    plan = NodePlan(load_layout(layout), 1, 4.0, mod_rpcs=cluster.metadata.mod_rpcs)
    return ServedNode(plan, SimulatedMetadataClient(world)), world


def seen(node: ServedNode, root: Path) -> dict[str, TargetSnapshot]:
    """What an observer makes of the tree, written down as plain files."""
    for path, file in node.tree.files.items():
        if file.read is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(file.text())
    observer = LustreObserver(root)
    observer.kinds = (METADATA,)
    try:
        return {one.target.kind.name: one for one in observer.observe().targets}
    finally:
        observer.close()


@pytest.mark.parametrize("layout", ["2.15", "2.17"])
@pytest.mark.parametrize("workload", ["md_create_16", "md_unlink_4", "md_stat_4", "md_epoch_8", "md_ls"])
def test_observer_of_the_tree_sees_what_the_simulator_counts(
    workload: str, layout: str, tmp_path: Path
) -> None:
    node, world = made(workload, layout)
    node.advance(3.0)
    found, told = seen(node, tmp_path), world.probe().observe().targets
    for one in told:
        shown = found[one.target.kind.name]
        for name, count in one.counters.items():
            if name.endswith((".ops", ".rpcs")):
                # A create is counted before its close, which an application waits for too.
                assert shown.counters[name] == pytest.approx(count, abs=world.work.threads), name
        assert sum(one.counters.values()) > 0
    round_trip = told[0].gauges["round_trip.usec"]
    assert found["mdc"].gauges["round_trip.usec"] == pytest.approx(round_trip, abs=1.0)


def test_knobs_of_the_tree_reach_the_simulation(tmp_path: Path) -> None:
    node, world = made("md_create_16")

    def rate() -> float:
        before = world.members[0].operations.count
        node.advance(5.0)
        return (world.members[0].operations.count - before) / 5.0

    default = rate()
    node.metadata.store_mod_rpcs("15")
    assert world.members[0].setting["rpcs"] == 16
    assert rate() > 1.3 * default
    with pytest.raises(OSError, match="Numerical result"):
        node.metadata.store_mod_rpcs("17")
    node.unmount()
    node.mount()
    assert dict(world.members[0].setting) == {"rpcs": 8, "mod_rpcs": 7, "statahead": 32}
