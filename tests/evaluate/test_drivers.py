"""Who turns knobs while simulated time passes."""

from __future__ import annotations

from penstock.evaluate.drivers import Course, Loops
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.simulation import Simulation
from penstock.workload import parse_workload


def test_all_clients_tune_from_the_first_interval_on() -> None:
    work = parse_workload("s_rd_rn_1m")
    plan = Plan(builtin_cluster("c220g5"), tuple(Job(work, client) for client in range(6)), 6, 1)
    simulation = Simulation(plan)
    loops = Loops(simulation, Course(2.0, 0.0, policy="random", guard=False))
    for interval in range(1, 4):
        loops.advance()
        assert simulation.now_s == interval * INTERVAL_S
    assert {decided.client for decided in loops.decided} == set(range(6))
    assert {decided.t_s for decided in loops.decided} <= {INTERVAL_S * number for number in (1, 2, 3)}
