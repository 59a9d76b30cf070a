"""Stage 2 of CARAT alone, as printed (Algorithm 2 with its own triggers). The RPC knobs stay as they are."""

from __future__ import annotations

from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.window import Window


class CachePolicy(Policy):
    """Tunes the cache only."""

    name = "cache-printed"
    tunes_cache = True

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Propose no change. The tuner adds cache limits when an active stage begins."""
        return Proposal(window.setting, "hold", "only the cache is tuned")


POLICY = CachePolicy
