"""A setting drawn anew at every window: how training data is collected, and the floor for any tuner."""

from __future__ import annotations

from penstock.decide.policies._base import RPC_KNOBS, Policy, Proposal
from penstock.decision import Outlook
from penstock.window import Window


class RandomPolicy(Policy):
    """Draws the request size and the requests in flight uniformly from their candidates."""

    name = "random"

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Any setting, whatever the window says."""
        drawn = {knob_id: self.rng.choice(self.space[knob_id].values) for knob_id in self._knob_ids()}
        return Proposal(window.setting.replace(drawn), "drawn", "drawn at random")

    def _knob_ids(self) -> tuple[str, ...]:
        return tuple(knob_id for knob_id in RPC_KNOBS if knob_id in self.space.ids)


POLICY = RandomPolicy
