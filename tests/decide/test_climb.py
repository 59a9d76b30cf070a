"""The climb policy on surfaces whose top is known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.decide.policies.climb import ClimbPolicy
from penstock.knobs import Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE, fuse
from penstock.window import Window

TARGET = Target("fs-OST0000-osc-1", "fs", "OST0000")
Surface = Callable[[Setting], float]


def walk(surface: Surface, windows: int, start: Setting = LUSTRE.default) -> list[Setting]:
    policy, setting, path = ClimbPolicy(LUSTRE, Random(0)), start, []
    for i in range(windows):
        moved = surface(setting) * 0.5
        window = Window(TARGET, i * 0.5, i * 0.5 + 0.5, setting, {"write.bytes": moved})
        setting = LUSTRE.settle(setting, policy.propose(window).setting)
        path.append(setting)
    return path


def cone(pages: int, flight: int) -> Surface:
    """One top, falling off by the same ratio with every doubling away from it."""

    def surface(setting: Setting) -> float:
        away = abs(math.log2(setting["pages"] / pages)) + abs(math.log2(setting["flight"] / flight))
        return float(1e9 * 0.85**away)

    return surface


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(LUSTRE["pages"].values), st.sampled_from(LUSTRE["flight"].values))
def test_climb_reaches_the_top_of_a_cone_and_rests_there(pages: int, flight: int) -> None:
    later = walk(cone(pages, flight), 400)[250:]
    place, windows = Counter(setting.only("pages", "flight") for setting in later).most_common(1)[0]
    assert place == Setting(pages=pages, flight=flight)
    assert windows >= 100


def test_climb_stays_on_a_plateau() -> None:
    path = walk(lambda setting: 5e8, 100)
    assert path[-1].only("pages", "flight") == Setting(pages=1024, flight=8)
    assert sum(a != b for a, b in pairwise(path)) <= 10


def test_climb_does_nothing_while_nothing_moves() -> None:
    assert set(walk(lambda setting: 0.0, 50)) == {LUSTRE.default}


def test_climb_starts_over_when_somebody_else_moved_the_knob() -> None:
    policy = ClimbPolicy(LUSTRE, Random(0))
    mine = Window(TARGET, 0.0, 0.5, LUSTRE.default, {"write.bytes": 1e8})
    theirs = Window(TARGET, 0.5, 1.0, LUSTRE.default.replace(flight=3), {"write.bytes": 1e8})
    policy.propose(mine)
    proposal = policy.propose(theirs)
    assert proposal.setting == theirs.setting
    assert proposal.reason == "measuring"


@pytest.mark.parametrize("change_at", [200, 290])
def test_climb_looks_again_when_the_world_changes(change_at: int) -> None:
    seen = 0

    def shifting(setting: Setting) -> float:
        nonlocal seen
        seen += 1
        return cone(1024, 8)(setting) if seen <= change_at else cone(1024, 64)(setting)

    path = walk(shifting, change_at + 120)
    assert any(setting["flight"] == 64 for setting in path[change_at:])


def test_climb_waits_for_new_opens_where_a_knob_acts_on_those_alone() -> None:
    """Files are opened anew every 2.5 s; only then does a new readahead show."""
    space = fuse()
    policy, setting, felt = ClimbPolicy(space, Random(0)), space.default, space.default["ahead"]
    best = 0
    for i in range(200):
        if i % 5 == 0:
            felt = setting["ahead"]
        window = Window(TARGET, i * 0.5, i * 0.5 + 0.5, setting, {"read.bytes": 1e6 * min(felt, 1024)})
        setting = space.settle(setting, policy.propose(window).setting)
        best += setting["ahead"] >= 1024
    assert best >= 150
