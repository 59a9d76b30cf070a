"""`weir` that does not see what the node's other targets get. The guard still does."""

from __future__ import annotations

from dataclasses import replace

from penstock.decide.objective import OTHERS_BUSY, OTHERS_BYTES
from penstock.decide.policies._base import Proposal
from penstock.decide.policies.weir import WeirPolicy
from penstock.decision import Outlook
from penstock.window import Window


class NoOthers(WeirPolicy):
    """Judges a group by its own targets alone."""

    name = "no-others"

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Take in a window without what it says of other targets."""
        own = {
            name: value for name, value in window.metrics.items() if name not in (OTHERS_BUSY, OTHERS_BYTES)
        }
        return super().propose(replace(window, metrics=own), outlook)


POLICY = NoOthers
