"""Collecting on the simulator: the ports of one simulated client."""

from __future__ import annotations

from penstock.ports import Ports
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import find_cluster
from penstock.simulate.probe import Probe
from penstock.simulate.simulation import Simulation


def simulated_world(cluster: str, workload: str, seed: int) -> Ports:
    """One client of a cluster that runs one workload from time zero."""
    probe = Probe(Simulation(named_plan(find_cluster(cluster), workload, seed=seed)))
    return Ports(probe, probe, probe)
