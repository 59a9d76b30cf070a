"""The baseline: leaves every knob as the system has it."""

from __future__ import annotations

from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.decision_reasons import Reason
from penstock.window import Window


class DefaultPolicy(Policy):
    """Proposes the setting in force."""

    name = "default"

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        return Proposal(window.setting, Reason.DEFAULT, "the default policy changes nothing")


POLICY = DefaultPolicy
