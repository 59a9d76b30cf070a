"""The policy suite accepts the built-in policies and catches bad ones."""

from __future__ import annotations

import math
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.decide.policies import POLICY_NAMES, Policy, Proposal, policy_class
from penstock.decision import Outlook
from penstock.errors import KnobError
from penstock.testing.policies import check_any_legal_start_is_survived, check_policy
from penstock.window import Window


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_policy_suite_accepts_the_built_in(name: str) -> None:
    check_policy(policy_class(name))


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(POLICY_NAMES), seed=st.integers(0, 2**32))
def test_every_policy_survives_any_legal_start(name: str, seed: int) -> None:
    check_any_legal_start_is_survived(policy_class(name), seed)


class Greedy(Policy):
    name = "too-greedy"

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        return Proposal(window.setting.replace(flight=window.setting["flight"] * 2), "more", "more is better")


class Mute(Policy):
    name = "mute"

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        return Proposal(window.setting, "because", " ")


class Moody(Policy):
    name = "moody"
    moods = count()

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        flight = 1 + next(self.moods) % 7
        return Proposal(window.setting.replace(flight=flight), "mood", f"today it is {flight}")


class Boundless(Policy):
    """As `weir` once was: what is no candidate is worth nothing, and anything is infinitely better."""

    name = "boundless"

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        setting = window.setting
        off_grid = setting["flight"] & (setting["flight"] - 1)
        return Proposal(setting, "rest", "all is well", {"gain": math.inf if off_grid else 1.0})


class Credulous(Policy):
    """Behaves until it has a model's word."""

    name = "credulous"

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        if outlook is None:
            return Proposal(window.setting, "rest", "nobody promises anything")
        return Proposal(window.setting.replace(flight=99999), "more", "the model promises more")


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        (Greedy, KnobError),
        (Mute, AssertionError),
        (Moody, AssertionError),
        (Boundless, AssertionError),
        (Credulous, KnobError),
    ],
)
def test_policy_suite_catches_a_bad_policy(policy: type[Policy], error: type[Exception]) -> None:
    with pytest.raises(error):
        check_policy(policy)
