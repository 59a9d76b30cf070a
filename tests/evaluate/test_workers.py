"""Results of a simulated cluster do not depend on how many processes compute them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.evaluate.simulated import static_surface
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.faults import parse_fault
from penstock.units import MIB
from penstock.workload import parse_workload


@pytest.fixture(scope="module")
def busy_plan() -> Plan:
    """Three clients, two of them on one shared file, while an OST is slow and one client is evicted."""
    cluster = builtin_cluster("c220g5").override({"ost_count": "2"})
    shared, own = (
        replace(parse_workload(name), file_bytes=64 * MIB, cache_bytes=32 * MIB)
        for name in ("s_wr_sq_1m", "f_rd_rn_1m")
    )
    jobs = (Job(shared, 0, shared="f"), Job(shared, 1, shared="f"), Job(own, 2))
    faults = ("slow:ost=0:at=0.02:for=0.04:factor=3", "evict:client=2:at=0.05")
    return Plan(cluster, jobs, 3, 7, faults=tuple(parse_fault(text) for text in faults))


@pytest.mark.slow
def test_contending_clients_get_the_same_whatever_the_number_of_workers(busy_plan: Plan) -> None:
    alone = list(static_surface(busy_plan, 0.05, 0.03))
    assert len({cell.totals.events for cell in alone}) > 20
    for workers in (2, 3):
        assert list(static_surface(busy_plan, 0.05, 0.03, workers)) == alone
