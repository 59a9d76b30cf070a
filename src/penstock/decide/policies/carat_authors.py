"""CARAT as its authors' public code behaves where that differs from the paper."""

from __future__ import annotations

from random import Random

from penstock.decide import score
from penstock.decide.policies._base import Proposal
from penstock.decide.policies.carat import CaratPolicy
from penstock.decision import Outlook
from penstock.decision_reasons import Reason
from penstock.knobs import KnobSpace
from penstock.ratios import cache_update_bytes
from penstock.window import Window

UPDATING_BELOW = 0.8
UPDATING_SKIPS = 5


class CaratAuthorsPolicy(CaratPolicy):
    """CARAT with the authors' score, a first step, and pauses.

    The score uses logarithms over the whole space. An active stage begins at the smallest setting. After a move made
    while most writes only update the cache, the policy pauses for five intervals.
    """

    name = "carat-authors"
    model_kind = "forest"
    vetoes = True

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng)
        self._first = True
        self._skip = 0

    def resumed(self) -> None:
        self._first, self._skip = True, 0

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Algorithm 1, except in the first interval of a stage and during a pause."""
        if self._first:
            self._first = False
            smallest = {knob_id: self.space[knob_id].values[0] for knob_id in self.space.searched}
            return Proposal(
                window.setting.replace(smallest), Reason.FIRST, "an active stage starts at the smallest"
            )
        if self._skip > 0:
            self._skip -= 1
            return Proposal(
                window.setting, Reason.SKIP, f"resting {self._skip + 1} more intervals after a move"
            )
        proposal = super().propose(window, outlook)
        moved = proposal.setting != window.setting
        if moved and outlook is not None and outlook.direction == "write" and is_updating(window):
            self._skip = UPDATING_SKIPS
        return proposal

    def scores(self, kept: score.Survivors, outlook: Outlook, window: Window) -> score.Floats:
        return score.authors(kept, outlook.direction, self.space, updating=is_updating(window))


def is_updating(window: Window) -> bool:
    """Whether less than 80 % of the written bytes had to be sent. The rest only updated pages in the cache."""
    sent = window.metrics.get("write.bytes") or 0.0
    updated = cache_update_bytes(window) or 0.0
    return sent + updated > 0 and sent / (sent + updated) < UPDATING_BELOW


POLICY = CaratAuthorsPolicy
