"""Adversaries do harm where nothing stops them, and are stopped by the guard; the rival of `weir` is no adversary."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.evidence.asks import ABLATIONS

from penstock.evaluate.comparison import Lot, play
from penstock.evaluate.request import Terms
from penstock.evaluate.tuners import find_policy
from penstock.knobs import Setting
from penstock.testing.policies import check_policy
from penstock.train.worlds import DescribedWorld

ADVERSARIES = ABLATIONS.parent / "adversaries"
SETTINGS = {
    "always_4_1": [(4, 1)],
    "always_32_1": [(32, 1)],
    "swing_1_1_1024_256": [(1, 1), (1024, 256)],
    "swing_32_1_32_256": [(32, 1), (32, 256)],
}
READER = DescribedWorld("reader", '[[job]]\nworkload = "s_rd_rn_1m"\nosts = [0]\n')


def played(file: Path, seconds: float, *, guard: bool = False) -> Lot:
    return play(READER, str(file), Terms((), seconds=seconds, guard=guard))


def settings_of(lot: Lot) -> list[Setting]:
    """What the reader's target had after the original, in order."""
    return [step.setting.only("pages", "flight") for step in lot.run.path if step.ost == 0 and step.t_s > 0]


def test_every_adversary_is_tested() -> None:
    assert {file.stem for file in ADVERSARIES.glob("*.py")} == set(SETTINGS)


@pytest.mark.parametrize("name", SETTINGS)
def test_adversary_sets_what_its_name_says(name: str) -> None:
    file = ADVERSARIES / f"{name}.py"
    policy = find_policy(str(file))
    assert policy.name.replace("-", "_") == name
    check_policy(policy)
    wanted = [Setting(pages=pages, flight=flight) for pages, flight in SETTINGS[name]]
    found = settings_of(played(file, 3.0))
    turns = 1 if len(wanted) == 1 else 5
    assert found[:turns] == (wanted * turns)[:turns]
    assert set(found) == set(wanted)


@pytest.mark.parametrize("name", SETTINGS)
def test_guard_refuses_an_adversary_and_says_by_which_rule(name: str) -> None:
    free, guarded = (played(ADVERSARIES / f"{name}.py", 20.0, guard=guard) for guard in (False, True))
    assert free.run.held_back == {}
    refused = {rule: windows for rule, windows in guarded.run.held_back.items() if rule.startswith("guard.")}
    assert refused.get("guard.reference", 0) > 0
    # Nothing is set before the original was measured.
    assert all(step.t_s > 1.0 for step in guarded.run.path if step.t_s > 0)


def test_portfolio_tries_six_settings_a_second_and_a_half_each_and_holds_the_best() -> None:
    file = ABLATIONS / "portfolio.py"
    check_policy(find_policy(str(file)))
    lot = played(file, 40.0)
    steps = [step for step in lot.run.path if step.ost == 0]
    times = [step.t_s for step in steps]
    assert times[1:8] == [1.5 * number for number in range(1, 8)]
    assert len({step.setting for step in steps[1:7]}) == 6
    assert times[-1] < 35.0
    assert lot.run.app_mbps > 1.2 * play(READER, None, Terms((), seconds=40.0)).run.app_mbps
