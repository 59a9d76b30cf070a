"""Knob spaces: bounds, coupling, neighbours."""

from __future__ import annotations

from dataclasses import replace
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.decision import changes
from penstock.errors import KnobError
from penstock.knobs import Acts, Knob, KnobSpace, Role, Scope, Setting
from penstock.spaces import LUSTRE, lustre
from penstock.units import GIB, MIB

lustre_settings = st.builds(
    lambda pages, flight, dirty: Setting(pages=pages, flight=flight, dirty=dirty),
    st.integers(1, 1024),
    st.integers(1, 256),
    st.integers(0, 2047),
)


def test_setting_is_an_immutable_hashable_mapping() -> None:
    one, two = Setting(pages=1, flight=2), Setting({"flight": 2, "pages": 1})
    assert one == two
    assert hash(one) == hash(two)
    assert {one: "found"}[two] == "found"
    with pytest.raises(TypeError):
        one["pages"] = 3  # type: ignore[index]


def test_lustre_space_has_the_99_settings_of_the_traces() -> None:
    grid = LUSTRE.candidates()
    assert len(grid) == len(set(grid)) == 99
    assert Setting(pages=1024, flight=8) in grid
    assert LUSTRE.default == Setting(pages=1024, flight=8, dirty=2000)


def test_lustre_space_raises_dirty_with_pages_times_flight() -> None:
    small = Setting(pages=1024, flight=8, dirty=32)
    assert LUSTRE.settle(small, Setting(flight=256))["dirty"] == 1024
    assert LUSTRE.settle(small, Setting(flight=1))["dirty"] == 32
    assert LUSTRE.settle(small, Setting(flight=256, dirty=64))["dirty"] == 64


def test_lustre_space_cuts_dirty_to_an_eighth_of_memory() -> None:
    space = lustre(4 * GIB)
    assert space["dirty"].ceiling == 1024
    assert space.default["dirty"] == 512
    assert space.settle(Setting(pages=1024, flight=8, dirty=1000), Setting(pages=512))["dirty"] == 512


def test_lustre_space_takes_page_bounds_from_the_target() -> None:
    assert lustre(pages_floor=16)["pages"].values == (16, 32, 64, 128, 256, 512, 1024)
    assert lustre(pages_ceiling=256).default["pages"] == 256


def test_space_names_the_nearest_knob() -> None:
    with pytest.raises(KnobError, match="no knob 'flihgt'; did you mean \"flight\""):
        LUSTRE.check({"flihgt": 8})


@pytest.mark.parametrize("setting", [{"pages": 0}, {"flight": 257}, {"dirty": 2048}, {"dirty": -1}])
def test_space_refuses_values_out_of_bounds(setting: dict[str, int]) -> None:
    with pytest.raises(KnobError, match="is outside"):
        LUSTRE.check(setting)


def test_knob_with_unsorted_or_outside_values_is_refused() -> None:
    with pytest.raises(KnobError, match="ascending"):
        Knob("k", (2, 1), 1, "", 1, 2)
    with pytest.raises(KnobError, match="leave"):
        Knob("k", (1, 4), 1, "", 1, 2)


def test_knob_without_any_value_in_the_target_bounds_is_refused() -> None:
    with pytest.raises(KnobError, match="no value lies in"):
        LUSTRE["pages"].within(5000, 6000)


@given(lustre_settings, st.integers(1, 1024), st.integers(1, 256))
def test_settling_never_lowers_dirty_below_what_is_in_flight(
    before: Setting, pages: int, flight: int
) -> None:
    after = LUSTRE.settle(before, Setting(pages=pages, flight=flight))
    assert after["dirty"] * 256 >= pages * flight
    assert after["dirty"] >= before["dirty"]


@given(lustre_settings)
def test_neighbours_differ_in_one_knob_and_stay_inside(here: Setting) -> None:
    for near in LUSTRE.neighbours(here, "pages", "flight"):
        LUSTRE.check(near)
        assert {change.knob_id for change in changes(here, near)} <= {"pages", "flight"}


@given(st.integers(1, 1024), st.integers(1, 1024))
def test_knob_cut_to_bounds_keeps_only_values_inside(a: int, b: int) -> None:
    low, high = min(a, b), max(a, b)
    cut = LUSTRE["pages"].within(low, high)
    assert cut.values
    assert all(low <= value <= high for value in cut.values)
    assert low <= cut.default <= high


def test_space_settles_without_coupling() -> None:
    space = KnobSpace("plain", (Knob("k", (1, 2), 1, "", 1, 2),))
    assert space.settle(space.default, Setting(k=2)) == Setting(k=2)


MOUNT_LIKE = KnobSpace(
    "made-up",
    (
        Knob("size", (4, 16, 64), 16, "KiB", 1, 1024, acts=Acts.NEXT_MOUNT, role=Role.REQUEST_SIZE),
        Knob("ahead", (128, 1024), 128, "KiB", 0, 65536, Scope.MOUNT, Acts.NEW_OPENS),
        Knob("slots", (2, 8), 2, "requests", 1, 64, Scope.NODE, role=Role.IN_FLIGHT),
    ),
)


def test_space_searches_no_cache_limit_no_node_wide_knob_and_none_of_the_next_mount() -> None:
    assert LUSTRE.searched == ("pages", "flight")
    assert MOUNT_LIKE.searched == ("ahead",)
    assert replace(MOUNT_LIKE, opted_in=frozenset({"slots"})).searched == ("ahead", "slots")
    assert [knob_id for knob_id in MOUNT_LIKE.ids if MOUNT_LIKE.may_set(knob_id)] == ["ahead"]


def test_space_answers_by_role() -> None:
    assert LUSTRE.of_role(Role.IN_FLIGHT) is LUSTRE["flight"]
    assert LUSTRE.in_flight_bytes(LUSTRE.default) == 1024 * 4096 * 8
    assert LUSTRE.cache_bytes(LUSTRE.default) == 2000 * MIB
    assert MOUNT_LIKE.of_role(Role.CACHE_LIMIT) is None
    assert MOUNT_LIKE.cache_bytes(MOUNT_LIKE.default) == 0
    assert MOUNT_LIKE.in_flight_bytes(MOUNT_LIKE.default) == 16 * 1024 * 2


def test_candidates_are_one_object_with_places_and_values() -> None:
    grid = LUSTRE.candidates()
    assert grid is LUSTRE.candidates() is LUSTRE.candidates("pages", "flight")
    assert all(grid[place] == setting for setting, place in grid.places.items())
    assert grid.column(Role.IN_FLIGHT).tolist() == [setting["flight"] for setting in grid]
    assert grid.column(Role.CACHE_LIMIT).tolist() == [1.0] * 99
    assert grid.in_flight_bytes.tolist() == [4096 * s["pages"] * s["flight"] for s in grid]
    with pytest.raises(ValueError, match="read-only"):
        grid.values[0, 0] = 7.0


def test_any_setting_has_coordinates_and_a_nearest_candidate() -> None:
    grid = LUSTRE.candidates()
    odd = [Setting(pages=768, flight=24, dirty=0), Setting(pages=4096, flight=8), Setting(pages=0, flight=1)]
    assert grid.locate(odd)[0].tolist() == pytest.approx([9.585, 4.585], abs=1e-3)
    assert grid.locate(odd)[1:].tolist() == [[12.0, 3.0], [0.0, 0.0]]
    assert [grid[int(place)] for place in grid.nearest(odd)] == [
        Setting(pages=1024, flight=32),
        Setting(pages=1024, flight=8),
        Setting(pages=1, flight=1),
    ]


def test_candidates_take_others_beside_them() -> None:
    grid, odd = LUSTRE.candidates(), Setting(pages=1024, flight=24)
    wider = grid.and_beside([grid[3], odd])
    assert wider is grid.and_beside([odd, grid[5]])
    assert (len(wider), wider[99], wider[:99].settings) == (100, odd, grid.settings)
    alike = wider.likeness(1.5)
    near, far = grid.places[Setting(pages=1024, flight=32)], grid.places[Setting(pages=1, flight=1)]
    assert alike[99, 99] == 1.0
    assert alike[99, near] > 0.9
    assert alike[99, far] < 0.01
    assert (alike[:99, :99] == grid.likeness(1.5)).all()


@given(st.integers(1, 4096), st.integers(1, 256))
def test_nearest_candidate_is_nearest_knob_by_knob(pages: int, flight: int) -> None:
    grid, here = LUSTRE.candidates(), Setting(pages=pages, flight=flight)
    found = grid[int(grid.nearest([here])[0])]
    for knob_id, value in here.items():
        best = LUSTRE[knob_id].values[LUSTRE[knob_id].nearest(value)]
        assert abs(log2(found[knob_id] / value)) == pytest.approx(abs(log2(best / value)))
