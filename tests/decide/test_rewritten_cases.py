"""Cases that follow from the law of rewriting."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.decide.guard.rewriting import Rewriting
from penstock.decide.habits import LAW_SHARE
from penstock.decide.rewritten_cases import with_rewritten
from penstock.decision import Cases
from penstock.knobs import Setting
from penstock.predict.surfaces import KINDS
from penstock.spaces import LUSTRE

GRID = LUSTRE.candidates()
HOME, SLOW, FASTER = (
    Setting(pages=1024, flight=8),
    Setting(pages=128, flight=1),
    Setting(pages=1024, flight=64),
)
FLAT = Cases({kind: np.zeros((3, len(ways), len(GRID))) for kind, ways in KINDS.items()})
DRAIN = 0.3


def seen(**changed: float) -> Rewriting:
    """What a real client's counters say that rewrites 256 MiB over a slow link, under a dirty limit of 512 MiB."""
    usual = {
        "windows": 20,
        "written": 85e6,
        "sent": 43e6,
        "over": 42e6,
        "waiting": 131e6,
        "in_flight": 15.8e6,
        "request_bytes": 4e6,
        "call_bytes": 1048576.0,
        "limit": 536e6,
    }
    return Rewriting(**{**usual, **changed})  # type: ignore[arg-type]


def expected(rewriting: Rewriting, setting: Setting) -> float:
    """The mean gain of the law's cases for a setting, in doublings."""
    cases = with_rewritten(FLAT, rewriting, GRID, DRAIN)
    added = cases.surfaces["write"][3:, 0]
    return float(np.mean(added[:, GRID.places[setting]]))


def test_a_slow_drain_is_expected_to_pay_where_all_that_is_rewritten_fits() -> None:
    assert expected(seen(), SLOW) > 0.3
    assert expected(seen(), HOME) == pytest.approx(0.0, abs=0.01)


def test_a_slow_drain_is_expected_to_lose_where_it_does_not_fit() -> None:
    crowded = seen(limit=128e6, waiting=120e6, over=0.45 * 85e6)
    assert expected(crowded, SLOW) < -0.2


def test_a_setting_that_would_hardly_send_is_expected_to_bring_nothing() -> None:
    cases = with_rewritten(FLAT, seen(), GRID, DRAIN)
    assert (cases.surfaces["write"][3:, 0, GRID.places[Setting(pages=1, flight=1)]] <= 0.0).all()


def test_the_laws_cases_have_their_share_of_the_votes_whatever_was_surveyed() -> None:
    weighted = Cases(FLAT.surfaces, weights={"write": np.array([5.0, 1.0, 2.0])})
    for cases in (FLAT, weighted):
        votes = with_rewritten(cases, seen(), GRID, DRAIN).weights["write"]
        assert votes.sum() == pytest.approx(1.0)
        assert votes[3:].sum() == pytest.approx(LAW_SHARE)


@pytest.mark.parametrize("unknown", [{"waiting": 0.0}, {"sent": 0.0}, {"call_bytes": 0.0}, {"over": 1e6}])
def test_nothing_is_added_where_counters_do_not_tell_enough(unknown: dict[str, float]) -> None:
    assert with_rewritten(FLAT, seen(**unknown), GRID, DRAIN) is FLAT


@pytest.mark.parametrize("more", [{}, {"limit": 128e6}, {"call_bytes": 1e9}, {"in_flight": 1.0}])
def test_gains_are_finite(more: dict[str, float]) -> None:
    assert np.isfinite(with_rewritten(FLAT, seen(**more), GRID, DRAIN).surfaces["write"]).all()
