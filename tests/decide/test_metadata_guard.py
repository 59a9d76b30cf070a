"""The guard on metadata: what requests that wait behind others cost, and where a trial that lost goes back to."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from penstock.decide.guard import Guard, GuardLimits, NodeView
from penstock.decide.guard.prices import fullness, price_of
from penstock.decide.objective import Rates
from penstock.decision import Decision
from penstock.knobs import Setting
from penstock.snapshot import Target
from penstock.spaces import mdc
from penstock.target_kinds import MDC
from penstock.window import Window

SPACE = mdc(63)
CONNECTION = Target("fs-MDT0000-mdc-ff11", "fs", "MDT0000", "fs-ff11", MDC)
HOME = SPACE.default
# The least that a request ever took, and the operations that one slot carries a second if nobody waits.
LEAST_USEC, PER_SLOT = 10_000.0, 100.0


class Connection:
    """A connection on which files are made: all slots are used, and requests take as long as the rate says."""

    def __init__(self, rate: Callable[[Setting], float]) -> None:
        self.guard = Guard(GuardLimits(jitter_s=0.0, dwell_s=0.0))
        self.rate = rate
        self.setting = self.original = HOME
        self.i = 0

    def step(self, **wanted: int) -> Decision:
        self.i += 1
        t_s, moved = self.i * 0.5, self.rate(self.setting) * 0.5
        metrics = {
            "query.ops": 0.0,
            "query.rpcs": 0.0,
            "query.usec": 0.0,
            "modify.ops": moved,
            "modify.rpcs": moved,
            "modify.usec": self.setting["mod_rpcs"] * 0.5e6,
            "round_trip.usec": LEAST_USEC,
        }
        window = Window(CONNECTION, t_s - 0.5, t_s, self.setting, metrics, self.original)
        wish = self.setting.replace(wanted)
        decision = Decision(
            f"d{self.i}", t_s, CONNECTION, self.setting, wish, "test", "test", {}, 0.9, work="creates"
        )
        (verdict,) = self.guard.review([window], [decision], lambda _: SPACE, NodeView())
        self.setting = verdict.wanted
        return verdict


def full(flight: float, home: Setting = HOME) -> float:
    return fullness(Rates(0.0, 100.0, 0.0, flight), home, SPACE)


def test_requests_that_merely_travel_cost_next_to_nothing() -> None:
    assert full(0.2 * HOME["mod_rpcs"]) == 0.0
    assert price_of(SPACE, Setting(rpcs=16, mod_rpcs=15), HOME, 0.0, GuardLimits()) < math.log2(1.04)


def test_where_requests_wait_behind_others_no_gain_pays() -> None:
    """A share of a busy server grows less than the requests one has there."""
    waiting = full(0.7 * HOME["mod_rpcs"])
    assert waiting == 1.0
    for rpcs in (16, 32, 128):
        place = Setting(rpcs=rpcs, mod_rpcs=min(rpcs - 1, 63))
        assert price_of(SPACE, place, HOME, waiting, GuardLimits()) > math.log2(rpcs / HOME["rpcs"])


def test_slots_of_changes_count_where_those_of_all_requests_are_many() -> None:
    assert full(7.0, HOME.replace(rpcs=64)) == full(7.0) == 1.0


@pytest.mark.parametrize(("busy", "stays"), [(False, True), (True, False)])
def test_share_taken_from_neighbours_of_a_busy_server_is_given_back(busy: bool, stays: bool) -> None:
    def rate(setting: Setting) -> float:
        own = setting["mod_rpcs"]
        # Forty requests of others are in flight there.
        return 100.0 * own / (own + 40.0) if busy else PER_SLOT * own

    connection = Connection(rate)
    for _ in range(6):
        connection.step()
    connection.step(rpcs=16, mod_rpcs=15)
    for _ in range(80):
        connection.step()
    assert (connection.setting == Setting(rpcs=16, mod_rpcs=15)) == stays


def test_row_51_metadata_goes_back_to_what_is_proven_not_to_a_worse_original() -> None:
    rates = {7: 100.0, 15: 400.0, 31: 405.0}
    connection = Connection(lambda setting: rates[setting["mod_rpcs"]])
    for _ in range(6):
        connection.step()
    connection.step(rpcs=16, mod_rpcs=15)
    for _ in range(44):
        connection.step()
    assert connection.setting == Setting(rpcs=16, mod_rpcs=15)
    rates[31] = 90.0
    assert connection.step(rpcs=32, mod_rpcs=31).changes
    after = [connection.step() for _ in range(60)]
    (revert,) = (one for one in after if one.reason == "guard.revert")
    assert "back to rpcs=16 mod_rpcs=15, which brought 4.0" in revert.sentence
    assert connection.setting == Setting(rpcs=16, mod_rpcs=15)
