"""An adversary: swings between 1 x 1 and 1024 x 256, from the least a client may send at a time to the most."""

from __future__ import annotations

from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.knobs import Setting
from penstock.window import Window

ONE, OTHER = Setting(pages=1, flight=1), Setting(pages=1024, flight=256)


class Swing1x1To1024x256(Policy):
    """Asks in every window for the one of the two settings that is not in force."""

    name = "swing-1-1-1024-256"

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """The other one; the first where neither is in force."""
        one, other = self.space.clipped(ONE), self.space.clipped(OTHER)
        wanted = other if window.setting.only(*ONE) == one else one
        return Proposal(window.setting.replace(wanted), "swing", f"now {wanted}")


POLICY = Swing1x1To1024x256
