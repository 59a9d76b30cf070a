"""What the system ships with: the baseline everything is compared with."""

from __future__ import annotations

from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.window import Window


class DefaultPolicy(Policy):
    """Leaves every knob where it is."""

    name = "default"

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Always the setting in force."""
        return Proposal(window.setting, "default", "the default policy changes nothing")


POLICY = DefaultPolicy
