"""`penstock simulate serve`: shows a simulated client as a live directory in Lustre's own layout."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import NearestChoice, prepare_simulator, require_libraries, seed_option
from penstock.emulate.treelayout import LAYOUTS
from penstock.errors import AccessError, UsageError
from penstock.units import counted

if TYPE_CHECKING:
    from penstock.emulate.served_node import ServedNode
    from penstock.simulate.cluster import Cluster

_MOST_OSTS = 4096


@click.command(epilog="Example: penstock simulate serve --workload s_rd_rn_1m --root ./client")
@click.option("--cluster", default="c220g5", show_default=True, help="A built-in cluster or FILE.toml.")
@click.option("--workload", default="s_wr_sq_1m", show_default=True, help="What the client's jobs do.")
@click.option("--root", type=click.Path(path_type=Path), required=True, help="Where the tree appears.")
@click.option("--layout", type=NearestChoice(LAYOUTS), default="2.15", show_default=True, help="Version.")
@click.option("--osts", type=click.IntRange(1, _MOST_OSTS), help="How many targets; else the cluster's.")
@click.option("--policy", type=NearestChoice(("none",)), default="none", help="Tuning is left to others.")
@click.option("--plain", is_flag=True, help="Ordinary files, refreshed every tick, instead of a FUSE mount.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Override a cluster parameter.")
@seed_option
def serve(**asked: object) -> None:
    """Serve a simulated Lustre client below a directory, alive in real time.

    The files, their modes, texts, errors, rounding and side effects are those of a real client. Lines written
    to ROOT/.control make things go wrong (block, fail, vanish, unmount, remount, reconnect, evict,
    deactivate). SIGTERM ends it and takes the tree away.
    """
    from penstock.emulate.realtime import serve_mounted, serve_plain

    root = asked["root"]
    assert isinstance(root, Path)
    require_libraries("serve", "numba", *(() if asked["plain"] else ("mfusepy",)))
    _prepare(root, plain=bool(asked["plain"]))
    prepare_simulator()
    click.echo("preparing the simulated client", err=True)
    node = _node(asked)

    def ready() -> None:
        click.echo(
            f"serving {counted(len(node.osts), 'target')} of Lustre {node.plan.layout.version} at {root}",
            err=True,
        )

    (serve_plain if asked["plain"] else serve_mounted)(node, root, ready)


def _prepare(root: Path, *, plain: bool) -> None:
    from penstock.emulate.mount import check_mountable

    try:
        root.mkdir(parents=True, exist_ok=True)
        if any(root.iterdir()):
            raise UsageError(f"{root}: not empty; serve into a new directory")
    except FileExistsError:
        raise UsageError(f"{root}: not a directory") from None
    except OSError as error:
        if error.errno == errno.ENOTCONN:
            cure = f"fusermount3 -u -z {root}"
            raise UsageError(f"{root}: whoever served it was killed and left a dead mount; {cure}") from None
        raise AccessError(f"{root}: {error.strerror}") from None
    if not plain:
        check_mountable(root)


def _node(asked: dict[str, object]) -> ServedNode:
    from penstock.emulate.served_node import NodePlan, ServedNode
    from penstock.emulate.simulator_client import SimulatorClient
    from penstock.emulate.simulator_metadata import SimulatedMetadataClient
    from penstock.emulate.simulator_reading import SimulatedReadingClient
    from penstock.emulate.treelayout import load_layout
    from penstock.simulate.catalogue import named_plan
    from penstock.simulate.metadata.metadata_probe import MetadataWorld
    from penstock.simulate.metadata.workloads import is_metadata, parse_metadata
    from penstock.simulate.reading.reading_client import ReadingClient
    from penstock.simulate.reading.reading_workloads import is_reading, parse_reading
    from penstock.simulate.simulation import Simulation

    cluster = _cluster(asked)
    seed, workload = int(str(asked["seed"])), str(asked["workload"])
    plan = NodePlan(
        load_layout(str(asked["layout"])),
        cluster.layout.ost_count,
        cluster.client.ram_gb,
        cluster.lustre.brw_pages,
        seed=seed,
        mod_rpcs=cluster.metadata.mod_rpcs,
        cores=cluster.client.cores,
    )
    if is_metadata(workload):
        world = MetadataWorld(cluster, parse_metadata(workload), seed=seed)
        return ServedNode(plan, SimulatedMetadataClient(world))
    if is_reading(workload):
        return ServedNode(plan, SimulatedReadingClient(ReadingClient(cluster, parse_reading(workload), seed)))
    simulation = Simulation(named_plan(cluster, workload, seed=seed))
    simulation.run_until(1e-6)
    return ServedNode(plan, SimulatorClient(simulation))


def _cluster(asked: dict[str, object]) -> Cluster:
    from penstock.simulate.cluster import find_cluster

    cluster = find_cluster(str(asked["cluster"]))
    changes = {"lustre.version": str(asked["layout"])}
    if asked["osts"] is not None:
        changes["layout.ost_count"] = str(asked["osts"])
    given = asked["changes"]
    assert isinstance(given, tuple)
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set {text}: not KEY=VALUE")
        changes[key.strip()] = value.strip()
    return cluster.override(changes)
