"""Knob spaces: bounds, coupling, neighbours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.decision import changes
from penstock.errors import KnobError
from penstock.knobs import Knob, KnobSpace, Setting
from penstock.spaces import LUSTRE, lustre
from penstock.units import GIB

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
    grid = LUSTRE.grid("pages", "flight")
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
