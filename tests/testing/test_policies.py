"""The policy suite accepts the built-in policies and catches bad ones."""

from __future__ import annotations

from itertools import count

import pytest

from penstock.decide.policies import POLICY_NAMES, policy_class
from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.errors import KnobError
from penstock.testing.policies import check_policy
from penstock.window import Window


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_policy_suite_accepts_the_built_in(name: str) -> None:
    check_policy(policy_class(name))


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


@pytest.mark.parametrize(
    ("policy", "error"), [(Greedy, KnobError), (Mute, AssertionError), (Moody, AssertionError)]
)
def test_policy_suite_catches_a_bad_policy(policy: type[Policy], error: type[Exception]) -> None:
    with pytest.raises(error):
        check_policy(policy)
