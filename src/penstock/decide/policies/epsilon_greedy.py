"""Epsilon-greedy: the CARAT paper's second baseline. It finds better settings than `greedy`, but slowly."""

from __future__ import annotations

from penstock.decide.policies._base import Proposal
from penstock.decide.policies.greedy import GreedyPolicy
from penstock.decision import Outlook
from penstock.decision_reasons import Reason
from penstock.window import Window


class EpsilonGreedyPolicy(GreedyPolicy):
    """Proposes a random candidate in one interval out of ten, and otherwise the most probable one."""

    name = "epsilon-greedy"
    epsilon = 0.1

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        if outlook is not None and self.rng.random() < self.epsilon:
            drawn = self.rng.choice(outlook.candidates)
            return Proposal(window.setting.replace(drawn), Reason.EXPLORE, f"exploring {drawn}")
        return super().propose(window, outlook)


POLICY = EpsilonGreedyPolicy
