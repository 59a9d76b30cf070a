"""Published curves and the families fitted to them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from penstock.errors import DataError, MissingError
from penstock.schedule.application import Curve
from penstock.schedule.family import (
    FAMILIES,
    MEMBERS,
    assumed_curve,
    classify,
    family_profiles,
    fit_families,
)
from penstock.schedule.profile import load_profiles, read_io_node_curves, read_ost_curves


def test_best_counts_split_as_published(shared_dir: Path) -> None:
    profiles = load_profiles("io-nodes", shared_dir / "data")
    assert Counter(profile.best_count for profile in profiles) == {0: 62, 1: 12, 2: 83, 4: 15, 8: 17}


def test_built_in_families_are_those_of_the_measured_curves(shared_dir: Path) -> None:
    profiles = load_profiles("io-nodes", shared_dir / "data")
    assert Counter(classify(profile.curve) for profile in profiles) == Counter(MEMBERS)
    for name, family in fit_families(profiles).items():
        assert FAMILIES[name].coefficients == pytest.approx(family.coefficients, abs=1e-4)


@pytest.mark.parametrize(("name", "count", "largest"), [("osts", 10, 32), ("applications", 9, 8)])
def test_other_curves_are_read(shared_dir: Path, name: str, count: int, largest: int) -> None:
    profiles = load_profiles(name, shared_dir / "data")
    assert len(profiles) == count and {profile.curve.largest for profile in profiles} == {largest}


def test_missing_and_damaged_curves_are_told(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="--data"):
        read_ost_curves(tmp_path / "none.csv")
    damaged = tmp_path / "curves.csv"
    damaged.write_text("scenario,forwarders\na,1\n")
    with pytest.raises(DataError, match="no column 'max'"):
        read_io_node_curves(damaged)
    damaged.write_text("scenario,forwarders,max\na,1,fast\n")
    with pytest.raises(DataError, match="'fast'"):
        read_io_node_curves(damaged)
    damaged.write_text("scenario,forwarders,max\na,1,-5\n")
    with pytest.raises(DataError, match="a: bandwidth"):
        read_io_node_curves(damaged)


@pytest.mark.parametrize("name", FAMILIES)
def test_family_curve_shows_its_own_behaviour_through_a_known_point(name: str) -> None:
    curve = FAMILIES[name].curve(8, 500.0, at_count=4)
    assert curve.at(4) == pytest.approx(500.0)
    measured = Curve((1, 2, 4, 8), tuple(curve.at(count) for count in (1, 2, 4, 8)))
    assert classify(measured) == name


def test_assumed_curve_keeps_the_bandwidth_on_one_resource() -> None:
    curve = Curve((1, 2, 4, 8), (10.0, 30.0, 70.0, 90.0))
    assumed = assumed_curve(curve, FAMILIES)
    assert assumed.at(1) == pytest.approx(10.0) and assumed.largest == 8


def test_family_profiles_follow_the_measured_proportions() -> None:
    assert len(family_profiles()) == sum(MEMBERS.values()) == 189
