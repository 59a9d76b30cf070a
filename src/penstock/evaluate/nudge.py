"""What chance does: the default with one change of half a second.

No policy that changes anything can promise to lose less than this one does. So it is run beside every policy that is
judged in described or random worlds.
"""

from __future__ import annotations

from random import Random

from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.knobs import KnobSpace, Role
from penstock.window import Window

NUDGE = "nudge"
#: Ten seconds after the work began.
AT_WINDOW = 20


class NudgePolicy(Policy):
    """Allows twice the requests in flight for half a second, once, and otherwise keeps the original."""

    name = NUDGE
    in_groups = True

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng)
        self._windows = 0

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """The original, except in one window."""
        self._windows += 1
        original = window.setting.replace(self.space.clipped(window.home.only(*self.space.searched)))
        knob = self.space.of_role(Role.IN_FLIGHT)
        if self._windows != AT_WINDOW or knob is None:
            return Proposal(original, NUDGE, "the original setting")
        twice = min(2 * original[knob.id], knob.ceiling)
        return Proposal(original.replace({knob.id: twice}), NUDGE, "once, to see what chance does")
