"""Greedy with a little chance: CARAT's second idea, better in the end and long in getting there."""

from __future__ import annotations

from penstock.decide.policies._base import Proposal
from penstock.decide.policies.greedy import GreedyPolicy
from penstock.decision import Outlook
from penstock.window import Window


class EpsilonGreedyPolicy(GreedyPolicy):
    """One interval in ten any candidate at all, otherwise the surest."""

    name = "epsilon-greedy"
    epsilon = 0.1

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Explore now and then, exploit otherwise."""
        if outlook is not None and self.rng.random() < self.epsilon:
            drawn = self.rng.choice(outlook.candidates)
            return Proposal(window.setting.replace(drawn), "explore", f"exploring {drawn}")
        return super().propose(window, outlook)


POLICY = EpsilonGreedyPolicy
