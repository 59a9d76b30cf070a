"""What is planned asleep changes nothing until it is woken, and then what it should."""

from __future__ import annotations

import pytest

from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.disturb import NEVER_S, asleep, begin_faults, end_faults, stop_job, wake_job
from penstock.simulate.faults import Fault
from penstock.simulate.simulation import Simulation
from penstock.workload import parse_workload

READS = parse_workload("s_rd_rn_1m")
CLUSTER = builtin_cluster("c220g5")


def world() -> Simulation:
    jobs = (Job(READS, 0, osts=(0,)), asleep(Job(READS, 1, osts=(0,))))
    faults = (Fault("slow", NEVER_S, ost=0, factor=5.0), Fault("fail", NEVER_S, ost=0))
    return Simulation(Plan(CLUSTER, jobs, 2, 0, faults=faults))


def rate(simulation: Simulation, client: int = 0, seconds: float = 4.0) -> float:
    """What a client's application gets from now on, in MB/s."""
    before = simulation.totals(client).app_bytes
    simulation.run_until(simulation.now_s + seconds)
    return (simulation.totals(client).app_bytes - before) / seconds / 1e6


def test_what_sleeps_takes_nothing_from_the_others() -> None:
    alone = Simulation(Plan(CLUSTER, (Job(READS, 0, osts=(0,)),), 2, 0))
    asleep_too = world()
    assert rate(asleep_too) == pytest.approx(rate(alone), rel=0.05)
    assert asleep_too.totals(1).app_bytes == 0


def test_woken_job_works_until_it_is_stopped_and_again() -> None:
    simulation = world()
    before = rate(simulation)
    wake_job(simulation, 1)
    wake_job(simulation, 1)
    assert rate(simulation) < 0.95 * before
    assert rate(simulation, client=1) > 0.5 * before
    stop_job(simulation, 1)
    simulation.run_until(simulation.now_s + 1.0)
    assert rate(simulation, client=1) == 0.0
    assert rate(simulation) == pytest.approx(before, rel=0.05)
    wake_job(simulation, 1)
    assert rate(simulation, client=1) > 0.5 * before


def test_faults_begin_and_end_when_told() -> None:
    simulation = world()
    before = rate(simulation)
    begin_faults(simulation, [0])
    assert rate(simulation) < 0.6 * before
    end_faults(simulation, [0])
    simulation.run_until(simulation.now_s + 1.0)
    assert rate(simulation) == pytest.approx(before, rel=0.05)
    begin_faults(simulation, [1])
    simulation.run_until(simulation.now_s + 1.0)
    assert rate(simulation) == 0.0


def test_same_disturbances_give_the_same_run() -> None:
    ends = []
    for _ in range(2):
        simulation = world()
        simulation.run_until(2.0)
        wake_job(simulation, 1)
        begin_faults(simulation, [0])
        simulation.run_until(5.0)
        ends.append(simulation.totals())
    assert ends[0] == ends[1]
