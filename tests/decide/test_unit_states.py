"""A unit's states have names, each step leads from one to the next, and what must hold in all of them is checked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.decide.guard.record import MountTrial, Switchback, UnitRecord, Visit
from penstock.decide.guard.unit_states import (
    Leave,
    LookBegins,
    LookEnds,
    Return,
    Settle,
    State,
    state_of,
    transition,
    validate,
)
from penstock.evaluate.simulated_client import INTERVAL_S, Tuning, simulated_client
from penstock.knobs import Setting
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.simulation import Simulation

ADVERSARIES = Path(__file__).parents[2] / "benchmarks" / "adversaries"
HOME, AWAY, OTHER = (Setting(pages=pages, flight=8) for pages in (1024, 64, 16))


def unit() -> UnitRecord:
    """A unit at its original that was seen at work."""
    record = UnitRecord(MountTrial(), homes={"target": HOME}, work="reads", place=HOME)
    record.of("reads")
    return record


def away(record: UnitRecord) -> None:
    record.place = AWAY
    transition(record, Leave(Visit(AWAY, 1.0)))


def test_every_state_has_a_name_and_a_way_to_the_next() -> None:
    record = unit()
    assert state_of(record) is State.HOME
    away(record)
    transition(record, Settle(1))
    assert state_of(record) is State.SETTLING
    transition(record, Settle(0))
    assert state_of(record) is State.TRIAL
    record.works["reads"].proven.add(AWAY)
    assert state_of(record) is State.HELD
    transition(record, LookBegins(Switchback({"target": AWAY}, AWAY, 3)))
    assert state_of(record) is State.LOOK
    # A reconnect: two steps at once.
    transition(record, LookEnds(), Settle(1))
    assert state_of(record) is State.SETTLING
    transition(record, Settle(0), Return())
    assert state_of(record) is State.HOME


def to_the_original(record: UnitRecord) -> None:
    record.place = HOME
    transition(record, Leave(Visit(HOME, 1.0)))


def to_elsewhere(record: UnitRecord) -> None:
    away(record)
    record.place = OTHER


def another_look(record: UnitRecord) -> None:
    away(record)
    transition(record, LookBegins(Switchback({"target": OTHER}, OTHER, 3)))


def endless_look(record: UnitRecord) -> None:
    away(record)
    transition(record, LookBegins(Switchback({"target": AWAY}, AWAY, 3, taken=3)))


def proven_original(record: UnitRecord) -> None:
    record.works["reads"].proven.add(HOME)


def forgotten_work(record: UnitRecord) -> None:
    record.work = "writes"


def too_many_works(record: UnitRecord) -> None:
    record.works |= {f"work {number}": record.works["reads"] for number in range(20)}


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (to_the_original, "a visit to the original"),
        (to_elsewhere, "while pages=16 flight=8 is in force"),
        (another_look, "a look from pages=16 flight=8 during a visit to pages=64 flight=8"),
        (endless_look, "a look of 3 windows goes on after 3"),
        (proven_original, "reads: the original is proven"),
        (forgotten_work, "nothing is known of the work at hand, writes"),
        (too_many_works, "21 kinds of work are kept"),
        (lambda record: transition(record, Settle(-1)), "-1 windows are left to settle"),
    ],
)
def test_what_cannot_be_is_found(harm: Callable[[UnitRecord], None], said: str) -> None:
    record = unit()
    assert validate(record) == ()
    harm(record)
    (found,) = validate(record)
    assert said in found


@pytest.mark.parametrize(
    ("policy", "workload"),
    [
        ("weir", "s_rd_rn_1m"),
        ("weir", "f_wr_rn_1m"),
        (str(ADVERSARIES / "always_32_1.py"), "f_wr_rn_1m"),
        (str(ADVERSARIES / "swing_32_1_32_256.py"), "s_rd_rn_8k"),
    ],
)
def test_whatever_a_policy_wants_records_are_sound(policy: str, workload: str) -> None:
    simulation = Simulation(named_plan(builtin_cluster("c220g5"), workload, 1, 7))
    simulation.run_until(2.0)
    loop = simulated_client(simulation, Tuning(policy, True), 0)
    assert loop.guard is not None
    met: set[State] = set()
    for _ in range(round(40.0 / INTERVAL_S)):
        simulation.run_until(simulation.now_s + INTERVAL_S)
        loop.tick()
        for record in loop.guard._records.values():
            assert validate(record) == ()
            met.add(state_of(record))
    assert {State.HOME, State.TRIAL} <= met
