"""Simulated clients around one folder: one explores, all others follow, and a liar costs a few trials only."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.shared_fleet import FleetLoops

from penstock.decide.guard import GuardLimits
from penstock.evaluate.drivers import Course
from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.simulation import Simulation
from penstock.workload import parse_workload

CLIENTS, WARMUP_S, SECONDS = 3, 5.0, 60.0
LIES = tuple(Setting(pages=pages, flight=1) for pages in (32, 64, 128, 256, 512))


def fleet(share: Path, lies: tuple[Setting, ...] = ()) -> FleetLoops:
    """Three random readers, a minute long."""
    cluster = builtin_cluster("c220g5").override({"ost_count": str(CLIENTS)})
    jobs = tuple(Job(parse_workload("s_rd_rn_1m"), client) for client in range(CLIENTS))
    simulation = Simulation(Plan(cluster, jobs, CLIENTS, 1))
    simulation.run_until(WARMUP_S)
    found = FleetLoops(simulation, Course(SECONDS, WARMUP_S, policy="weir"), share, lies=lies)
    while simulation.now_s < WARMUP_S + SECONDS:
        found.advance()
    return found


@pytest.mark.slow
def test_one_client_explores_and_the_others_first_change_is_what_it_proved(tmp_path: Path) -> None:
    found = fleet(tmp_path / "share")
    explorers = {one.client for one in found.decided if one.reason == "promising"}
    assert len(explorers) == 1
    assert sum(member.scouts for member in found.members) == 1
    proved = {one.wanted for one in found.decided if one.client in explorers}
    followers = set(range(CLIENTS)) - explorers
    for client in followers:
        first = next(one for one in found.decided if one.client == client)
        assert first.reason == "followed"
        assert first.wanted in proved
        assert f"proved on node node{min(explorers):04d}" in first.sentence
    at_s = [next(one.t_s for one in found.decided if one.client == client) for client in followers]
    assert len(set(at_s)) == len(followers)


@pytest.mark.slow
def test_a_liar_costs_each_node_a_few_trials_within_its_own_guards_bound(tmp_path: Path) -> None:
    found = fleet(tmp_path / "share", LIES)
    limits = GuardLimits()
    tried: dict[int, list[Setting]] = {client: [] for client in range(CLIENTS)}
    for one in found.decided:
        if one.reason == "followed":
            space = {**one.before, **one.wanted}
            tried[one.client].append(Setting(pages=space["pages"], flight=space["flight"]))
    # Some of the lies happen to be nearly true here. What a node has tried it judges by itself, once and for all.
    for settings in tried.values():
        assert 1 <= len(settings) == len(set(settings))
        assert set(settings) <= set(LIES)
    for loop in found.loops:
        assert loop.guard is not None
        for use in loop.guard.bounds(WARMUP_S + SECONDS):
            assert use.lost_s <= limits.price * 600.0
