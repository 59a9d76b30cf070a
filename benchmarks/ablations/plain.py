"""The plain rule: once the original is known, the setting with the best mean in the survey, and the guard reverts."""

from __future__ import annotations

from random import Random

from penstock.decide.belief import Knowledge, MeasuredSetting
from penstock.decide.objective import rates_of
from penstock.decide.policies._base import Policy, Proposal
from penstock.decide.policies.weir import WeirPolicy
from penstock.decision import Outlook
from penstock.knobs import KnobSpace, Setting
from penstock.window import Window

WINDOWS = 4


class Plain(Policy):
    """No trials and no memory: one wish, for as long as the work lasts."""

    name = "plain"
    uses_model = True
    model_kind = WeirPolicy.model_kind
    guarded = True
    in_groups = True

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng)
        self._original = MeasuredSetting()
        self._wish: Setting | None = None

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Measure for two seconds, then ask for the survey's favourite."""
        place = window.setting.only(*self.space.searched)
        if outlook is None or outlook.cases is None:
            return Proposal(window.setting, "plain", "nobody surveyed this", decided=False)
        if self._wish is None:
            self._original.take(rates_of(window), self._original.level.count)
            if self._original.level.count < WINDOWS:
                return Proposal(window.setting, "plain", "measuring", decided=False)
            known = Knowledge({place: self._original})
            belief = known.believe(outlook.cases, self.space.candidates(), place, WINDOWS, "fair")
            best = int(belief.mean.argmax())
            self._wish = belief.candidates[best] if belief.mean[best] > 0 else place
        return Proposal(window.setting.replace(self._wish), "plain", "the survey's favourite")


POLICY = Plain
