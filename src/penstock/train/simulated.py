"""The simulator as the world of a collection."""

from __future__ import annotations

from pathlib import Path

from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import Cluster, builtin_cluster
from penstock.simulate.probe import Probe
from penstock.simulate.simulation import Simulation
from penstock.train.collect import World


def simulated_world(cluster: str, workload: str, seed: int) -> World:
    """One client of a cluster that runs one workload from time zero."""
    probe = Probe(Simulation(named_plan(find_cluster(cluster), workload, seed=seed)))
    return World(probe, probe, probe)


def find_cluster(name: str) -> Cluster:
    """A built-in cluster by its name, or one described in a file."""
    from penstock.config import load

    return load(Path(name), Cluster) if name.endswith(".toml") else builtin_cluster(name)
