"""An adversary: swings between 32 x 1 and 32 x 256, the least and the most requests in flight."""

from __future__ import annotations

from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.knobs import Setting
from penstock.window import Window

ONE, OTHER = Setting(pages=32, flight=1), Setting(pages=32, flight=256)


class Swing32x1To32x256(Policy):
    """Asks in every window for the one of the two settings that is not in force."""

    name = "swing-32-1-32-256"

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """The other one; the first where neither is in force."""
        one, other = self.space.clipped(ONE), self.space.clipped(OTHER)
        wanted = other if window.setting.only(*ONE) == one else one
        return Proposal(window.setting.replace(wanted), "swing", f"now {wanted}")


POLICY = Swing32x1To32x256
