"""A random setting in every window: used to collect training data, and as a lower bound for any tuner."""

from __future__ import annotations

from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.decision_reasons import Reason
from penstock.window import Window


class RandomPolicy(Policy):
    """Draws every searched knob uniformly from its values."""

    name = "random"

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        drawn = {knob_id: self.rng.choice(self.space[knob_id].values) for knob_id in self.space.searched}
        return Proposal(window.setting.replace(drawn), Reason.DRAWN, "drawn at random")


POLICY = RandomPolicy
