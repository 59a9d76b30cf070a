"""Collecting on the simulator: the ports of one simulated client."""

from __future__ import annotations

from penstock.ports import Ports
from penstock.simulate.assembly import Plan
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import find_cluster
from penstock.simulate.probe import Probe
from penstock.simulate.simulation import Simulation
from penstock.train.draws import drawn_world
from penstock.train.worlds import DRAWN


def simulated_world(cluster: str, workload: str, seed: int) -> Ports:
    """One client from time zero: of a cluster that runs one workload, or the first one of a random world."""
    probe = Probe(Simulation(_plan(cluster, workload, seed)))
    return Ports(probe, probe, probe)


def _plan(cluster: str, workload: str, seed: int) -> Plan:
    if cluster == DRAWN:
        return drawn_world(workload).plan(seed)
    return named_plan(find_cluster(cluster), workload, seed=seed)
