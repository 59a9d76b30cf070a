"""One chosen setting, held for the whole run, as an administrator would set it by hand."""

from __future__ import annotations

from random import Random

from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.decision_reasons import Reason
from penstock.knobs import KnobSpace, Setting
from penstock.window import Window


class FixedPolicy(Policy):
    """Changes to its setting at the first window and stays. Without a setting it uses the space's default."""

    name = "fixed"

    def __init__(self, space: KnobSpace, rng: Random, setting: Setting | None = None) -> None:
        super().__init__(space, rng)
        self.setting = setting if setting is not None else space.default
        space.check(self.setting)

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        return Proposal(
            window.setting.replace(self.setting), Reason.FIXED, f"the setting was fixed to {self.setting}"
        )


POLICY = FixedPolicy
