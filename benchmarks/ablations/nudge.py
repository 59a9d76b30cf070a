"""Not `weir` at all: twice the requests in flight for half a second, once. What that changes is chance."""

from __future__ import annotations

from random import Random

from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.knobs import KnobSpace, Role
from penstock.window import Window

#: Ten seconds after the work began.
AT_WINDOW = 20


class Nudge(Policy):
    """Disturbs once, and hardly."""

    name = "nudge"
    in_groups = True

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng)
        self._windows = 0

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Keep the default, except in one window."""
        self._windows += 1
        knob = self.space.of_role(Role.IN_FLIGHT)
        assert knob is not None
        times = 2 if self._windows == AT_WINDOW else 1
        wanted = window.setting.replace({knob.id: times * self.space.default[knob.id]})
        return Proposal(wanted, "nudge", "once, to see what chance does")


POLICY = Nudge
