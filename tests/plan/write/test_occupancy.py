"""The closed forms against simulation and against what can be counted by hand."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.write.occupancy import expected_peak, expected_servers, expected_targets

Loads = npt.NDArray[np.int64]


def simulate(bursts: int, width: int, ring: int, rounds: int) -> Loads:
    """Loads of every place in `rounds` independent draws, by laying out every single burst."""
    rng = np.random.default_rng(7)
    loads = np.zeros((rounds, ring), dtype=np.int64)
    for turn in range(rounds):
        starts = rng.integers(0, ring, bursts)
        for step in range(width):
            loads[turn] += np.bincount((starts + step) % ring, minlength=ring)
    return loads


CASES = [
    (2, 4, 1008),
    (16, 4, 1008),
    (128, 1, 1008),
    (512, 4, 1008),
    (2048, 64, 1008),
    (200, 4, 144),
    (2000, 64, 144),
    (8, 60, 144),
    (100, 200, 144),
]


@pytest.mark.parametrize(("bursts", "width", "ring"), CASES)
def test_expected_peak_agrees_with_simulation(bursts: int, width: int, ring: int) -> None:
    loads = simulate(bursts, width, ring, 300).max(axis=1)
    noise = 4 * loads.std() / math.sqrt(loads.size)
    assert expected_peak(bursts, width, ring) == pytest.approx(loads.mean(), abs=noise + 0.025 * loads.mean())


@pytest.mark.parametrize(("bursts", "width", "ring"), CASES[:6])
def test_expected_targets_agrees_with_simulation(bursts: int, width: int, ring: int) -> None:
    used = (simulate(bursts, width, ring, 300) > 0).sum(axis=1)
    noise = 4 * used.std() / math.sqrt(used.size) + 1e-9
    assert expected_targets(bursts, width, ring) == pytest.approx(used.mean(), abs=noise)


@pytest.mark.parametrize(("targets", "servers"), [(1008, 144), (10, 4), (7, 7), (9, 2)])
@pytest.mark.parametrize(("bursts", "width"), [(1, 1), (3, 2), (5, 4), (4, 9)])
def test_expected_servers_agrees_with_simulation(targets: int, servers: int, bursts: int, width: int) -> None:
    rng = np.random.default_rng(3)
    starts = rng.integers(0, targets, (4000, bursts))
    hit = ((starts[:, :, None] + np.arange(min(width, targets))) % targets % servers).reshape(4000, -1)
    used = np.array([np.unique(row).size for row in hit])
    noise = 4 * used.std() / math.sqrt(used.size) + 1e-9
    assert expected_servers(bursts, width, targets, servers) == pytest.approx(used.mean(), abs=noise)


def test_expected_peak_two_bursts_by_hand() -> None:
    # Two runs of 4 on a ring of 1008 overlap for 7 of the 1008 differences of their starts.
    assert expected_peak(2, 4, 1008) == pytest.approx(1 + 7 / 1008, rel=1e-3)


def test_expected_peak_whole_ring_is_every_burst() -> None:
    assert expected_peak(12, 7, 7) == 12
    assert expected_peak(12, 14, 7) == 24


@given(st.integers(1, 400), st.integers(1, 60), st.integers(1, 50))
def test_expected_peak_lies_between_mean_and_all(bursts: int, width: int, ring: int) -> None:
    peak = expected_peak(bursts, width, ring)
    whole, rest = divmod(width, ring)
    assert bursts * width / ring - 1e-9 <= peak <= bursts * (whole + (rest > 0)) + 1e-9


@given(st.integers(1, 300), st.integers(1, 30), st.integers(31, 200))
def test_expected_peak_grows_with_bursts(bursts: int, width: int, ring: int) -> None:
    assert expected_peak(bursts + 1, width, ring) >= expected_peak(bursts, width, ring) - 0.02
