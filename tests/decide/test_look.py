"""Which surveyed cases count for the work at hand: those that look alike at the default."""

from __future__ import annotations

import math

import numpy as np
import pytest

from penstock.decide.belief import Knowledge, MeasuredSetting
from penstock.decide.habits import UNLIKE
from penstock.decide.look import Look, look_of
from penstock.decide.objective import Rates
from penstock.decision import Cases
from penstock.knobs import Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.window import Window

GRID = LUSTRE.candidates()
HOME = LUSTRE.default.only("pages", "flight")
SMALL = Setting(pages=64, flight=32)


def window(flight: float, request: float = 2.0**20, requests: float = 100.0) -> Window:
    metrics = {"read.bytes": request * requests, "read.rpcs": requests, "read.usec": flight * 0.5e6}
    return Window(Target("t", "t"), 0.0, 0.5, LUSTRE.default, metrics)


def test_a_look_is_requests_in_flight_their_bytes_and_their_seconds() -> None:
    look = look_of("read", [window(4.0), window(4.0)])
    assert look == pytest.approx((2.0, 20.0, math.log2(4.0 * 0.5 / 100)))


def test_windows_without_reads_and_work_that_is_not_compared_have_no_look() -> None:
    idle = Window(Target("t", "t"), 0.0, 0.5, LUSTRE.default, {"read.bytes": 0.0, "read.rpcs": 0.0})
    assert look_of("read", [idle]) == ()
    assert look_of("write", [window(4.0)]) == ()
    assert look_of("both", [window(4.0)]) == ()


def test_cases_that_look_alike_count_most_and_none_counts_nothing() -> None:
    mine, other = look_of("read", [window(1.0)]), look_of("read", [window(8.0)])
    unknown = (math.nan,) * 3
    cases = np.array([mine, other, unknown])
    alike, unlike, somewhat = Look("read", 1, mine).votes(cases, np.ones(3))
    assert alike > somewhat > unlike >= UNLIKE


def test_beyond_full_slots_and_below_half_a_request_nothing_differs() -> None:
    mine = np.array([look_of("read", [window(12.0, requests=120.0)])])
    (same,) = Look("read", 1, look_of("read", [window(40.0, requests=400.0)])).votes(mine, np.ones(1))
    assert same == pytest.approx(1.0 + UNLIKE)


def test_the_same_work_on_a_recorded_client_outvotes_all_simulated_ones() -> None:
    """Where all three counters agree; a doubling apart it is a case like any other."""
    mine, near = (2.0, 20.0, -4.0), (2.0, 20.0, -3.0)
    for direction in ("read", "write"):
        cases, weights = np.array([mine] + [near] * 80), np.array([5.0] + [1.0] * 80)
        same = Look(direction, 1, mine).votes(cases, weights)
        assert same[0] > 0.8 * same.sum()
        apart = Look(direction, 1, near).votes(cases, weights)
        assert apart[0] < 0.5 * apart.sum()


def test_simulated_writes_are_not_compared() -> None:
    cases = np.array([(2.0, 20.0, -4.0), (7.0, 12.0, -9.0), (math.nan,) * 3])
    assert list(Look("write", 1, (2.0, 20.0, -4.0)).votes(cases, np.ones(3))) == [1.0, 1.0, 1.0]
    assert list(Look("write").votes(cases, np.full(3, 5.0))) == [5.0, 5.0, 5.0]


def test_a_look_decides_between_cases_before_anything_else_was_measured() -> None:
    """Of two cases one says that splitting pays: it has the say where requests wait one at a time, and only there."""
    pays = np.array([math.log2(1024 / setting["pages"]) * 0.2 for setting in GRID])
    surfaces = np.stack([pays, -pays])[:, None]
    looks = np.array([look_of("read", [window(0.8)]), look_of("read", [window(8.0)])])
    cases = Cases({"read": surfaces}, {"read": looks}, {"read": np.ones(2)})
    gains = []
    for flight in (0.8, 8.0):
        known = Knowledge()
        known.looks["read"].take(window(flight))
        known.measured[HOME] = MeasuredSetting()
        for now in range(4):
            known.measured[HOME].take(Rates(1e8, 0.0, flight), now)
        belief = known.believe(cases, GRID, HOME, 4, "fair")
        gains.append(float(belief.mean[GRID.places[SMALL]]))
    assert gains[0] > 0.5
    assert gains[1] < -0.5


def test_a_real_client_outvotes_a_simulated_one() -> None:
    rising = np.array([0.3 if setting == SMALL else 0.0 for setting in GRID])
    cases = Cases({"read": np.stack([rising, -rising])[:, None]}, {}, {"read": np.array([5.0, 1.0])})
    known = Knowledge({HOME: MeasuredSetting()})
    for now in range(4):
        known.measured[HOME].take(Rates(1e8, 0.0), now)
    belief = known.believe(cases, GRID, HOME, 4, "fair")
    assert float(belief.mean[GRID.places[SMALL]]) == pytest.approx(0.3 * 4 / 6, abs=0.02)
