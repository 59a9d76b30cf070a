"""`weir` without relief for a direction that starves beside the other."""

from __future__ import annotations

from penstock.decide.policies.weir import WeirPolicy
from penstock.knobs import Setting


class NoRelief(WeirPolicy):
    """Who starves is helped only if a survey expects it."""

    name = "no-relief"

    def _relief_at(self, place: Setting) -> Setting | None:
        return None


POLICY = NoRelief
