"""Cases drawn for knobs that nobody surveyed."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.decide.belief import Knowledge, MeasuredSetting
from penstock.decide.objective import Rates
from penstock.knobs import KnobSpace, Setting
from penstock.predict.drawn import BEYOND_LOG2, DRAWN, Floats, drawn_cases
from penstock.spaces import LUSTRE, fuse, nfs

GRID = fuse().candidates()


def surface(kind: str, direction: int = 0) -> Floats:
    """Cases over (ahead, flight, dirty_ppm)."""
    shape = tuple(len(fuse()[knob_id].values) for knob_id in fuse().searched)
    return drawn_cases(GRID).surfaces[kind][:, direction].reshape(DRAWN, *shape)


def test_a_knob_does_nothing_to_a_direction_that_it_does_not_limit() -> None:
    reads, writes = surface("read"), surface("write")
    assert np.all(np.diff(reads, axis=3) == 0)
    assert np.all(np.diff(writes, axis=1) == 0)
    assert np.any(np.diff(reads, axis=1) > 0.5)
    assert np.any(np.diff(writes, axis=2) > 0.5)


def test_where_both_directions_are_at_work_one_waits_behind_what_the_other_has_too_much() -> None:
    """Only what is beyond enough costs the other one, so a direction still gains by a limit that it lacks."""
    reads, writes = surface("both", 0), surface("both", 1)
    assert np.all(reads <= surface("read"))
    assert np.all(np.diff(writes, axis=1) <= 0)
    assert np.mean(writes[:, -1, 5] - writes[:, 0, 5]) < -0.1
    assert np.mean(reads[:, 2, 5] - reads[:, 0, 5]) > 0.3


def test_mixed_work_is_offered_less_readahead_and_no_more_requests_than_reading_alone() -> None:
    home, best = Setting(ahead=128, flight=64, dirty_ppm=10_000), {}
    for kind, original in (("read", Rates(1e8, 0.0)), ("both", Rates(1e8, 2e8))):
        known = Knowledge({home: MeasuredSetting()})
        for _ in range(8):
            known.measured[home].take(original, 1)
        mean = known.believe(drawn_cases(GRID), GRID, home, 1, "fair").mean
        best[kind] = GRID[int(mean.argmax())]
    assert (best["read"]["ahead"], best["read"]["flight"]) == (4096, 256)
    assert 512 <= best["both"]["ahead"] <= 2048
    assert best["both"]["flight"] == 64


def test_more_never_brings_more_than_in_proportion_and_seldom_costs_much() -> None:
    for axis in (1, 2):
        steps = np.diff(surface("read"), axis=axis)
        assert steps.max() <= 1.0 + 1e-9
        assert np.mean(steps < -0.05) < 0.02


def test_the_scarcest_knob_counts() -> None:
    """Where more readahead alone brings nothing, requests in flight may be what is missing."""
    reads = surface("read")[:, :, :, 0]
    alone, together = reads[:, -1, 5] - reads[:, 0, 5], reads[:, -1, -1] - reads[:, 0, 5]
    assert np.any((alone < 0.1) & (together > 1.0))


def test_any_value_may_be_enough() -> None:
    """From below the smallest candidate to beyond the largest."""
    reads = surface("read")[:, :, -1, 0]
    assert np.mean(reads[:, -1] - reads[:, 0] < 0.05) > 0.5 * BEYOND_LOG2 / (5 + 2 * BEYOND_LOG2)
    assert np.mean(reads[:, -1] - reads[:, -2] > 0.3) > 0.1


@pytest.mark.parametrize("space", [fuse(), nfs(opted_in=frozenset({"dirty_bytes"})), LUSTRE])
def test_cases_repeat_and_are_finite(space: KnobSpace) -> None:
    one, again = (drawn_cases(space.candidates()).surfaces for _ in range(2))
    for kind, cases in one.items():
        np.testing.assert_array_equal(cases, again[kind])
        assert np.all(np.isfinite(cases))
        assert cases.shape == (DRAWN, 1 + (kind == "both"), len(space.candidates()))


def test_where_nothing_is_declared_any_setting_may_be_best() -> None:
    best = drawn_cases(LUSTRE.candidates()).surfaces["read"][:, 0].argmax(axis=1)
    found = [LUSTRE.candidates()[place] for place in best]
    assert Setting(pages=1024, flight=256) != max(set(found), key=found.count)
    assert len(set(found)) > DRAWN // 4


def test_smooth_surfaces_repeat_and_neighbours_are_alike() -> None:
    grid = LUSTRE.candidates()
    one, again = (drawn_cases(grid).surfaces["read"] for _ in range(2))
    np.testing.assert_array_equal(one, again)
    here, beside, afar = (
        grid.places[Setting(pages=p, flight=f)] for p, f in ((64, 8), (128, 8), (1024, 256))
    )
    near = np.abs(one[:, 0, here] - one[:, 0, beside]).mean()
    assert near < 0.6 * np.abs(one[:, 0, here] - one[:, 0, afar]).mean()
