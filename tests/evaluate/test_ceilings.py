"""Ceilings: settings by client, target and phase, and the search for them."""

from __future__ import annotations

import hashlib
import json

import pytest

from penstock.evaluate.ceilings import Climb, Place, climb, course_of, starts, switches
from penstock.evaluate.drivers import Course, Switch
from penstock.evaluate.lab import Lab
from penstock.evaluate.phases import Phases
from penstock.evaluate.store import Store
from penstock.evaluate.trial import ADDED, Trial, perform, plain
from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.workload import parse_workload

CLUSTER = builtin_cluster("c220g5")
SMALL, USUAL = Setting(pages=16, flight=64, dirty=512), Setting(pages=1024, flight=8, dirty=2000)


def two_clients() -> Plan:
    jobs = tuple(Job(parse_workload("s_rd_rn_1m"), client, osts=(client,)) for client in range(2))
    return Plan(CLUSTER, jobs, 2, 3)


def test_switch_reaches_the_targets_it_names_at_its_time() -> None:
    course = Course(4.0, 1.0, switches=(Switch(SMALL, 3.0, client=0, ost=0),))
    path = [(step.t_s, step.ost, step.setting) for step in perform(Trial(two_clients(), course)).path]
    assert path == [(0.0, 0, USUAL), (2.5, 0, SMALL)]


def test_switch_at_the_start_equals_a_setting_that_is_held() -> None:
    plan = Plan(CLUSTER, (Job(parse_workload("s_rd_rn_1m"), osts=(0,)),), 1, 3)
    held = perform(Trial(plan, Course(2.0, 1.0, SMALL)))
    switched = perform(Trial(plan, Course(2.0, 1.0, switches=(Switch(SMALL),))))
    assert held.read == switched.read


def test_later_fields_of_a_course_count_in_its_key_only_where_they_are_used() -> None:
    plan = two_clients()
    usual, switched = Trial(plan, Course(2.0, 1.0)), Trial(plan, Course(2.0, 1.0, switches=(Switch(SMALL),)))
    assert usual.key != switched.key
    old = {name: value for name, value in plain(usual.course).items() if name not in ADDED}
    document = json.dumps({"plan": plain(plan), "course": old}, sort_keys=True)
    assert usual.key == hashlib.sha256(document.encode()).hexdigest()[:24]


def test_phase_holds_its_own_setting() -> None:
    phases = Phases(CLUSTER, ("s_rd_rn_1m", "s_rd_sq_1m"), 1, 2.0)
    course = Course(phases.seconds, 5.0, switches=phases.switches((SMALL, USUAL)))
    path = perform(Trial(phases.plan(1), course)).path
    assert [(step.t_s, step.setting) for step in path if step.ost == 0] == [(0.0, SMALL), (2.5, USUAL)]


def test_search_gives_every_client_what_it_needs_and_never_less_than_its_start() -> None:
    jobs = tuple(
        Job(parse_workload(work), client, osts=(4 * client,))
        for client, work in enumerate(("s_rd_rn_1m", "s_wr_sq_1m"))
    )
    plan = Plan(CLUSTER, jobs, 2, 0)
    places = (Place(0, writes=False), Place(1))
    lab = Lab(Store(None), workers=1)
    search = Climb(plan, places, starts(CLUSTER, 2)[:1], course_of(2.0))
    chosen = climb(lab, {"pair": search})["pair"]
    assert chosen[0]["pages"] < 256
    assert chosen[0]["dirty"] == USUAL["dirty"]
    usual, best = lab.measure("", [search.trial(starts(CLUSTER, 2)[0]), search.trial(chosen)])
    assert best.app_mbps > 1.2 * usual.app_mbps


@pytest.mark.parametrize(("place", "count"), [(Place(), 2), (Place(writes=False), 0)])
def test_second_round_tries_the_neighbours_and_dirty_only_for_writers(place: Place, count: int) -> None:
    search = Climb(two_clients(), (place,), ((SMALL,),), course_of(1.0))
    assert [c[0]["pages"] for c in search.candidates((SMALL,), 0, "pages", near=True)] == [8, 32]
    assert len(search.candidates((SMALL,), 0, "dirty", near=True)) == count
    assert switches((place,), (SMALL,)) == (Switch(SMALL),)
