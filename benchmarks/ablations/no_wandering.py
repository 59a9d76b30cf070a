"""`weir` that also tunes work whose rate wanders by itself."""

from __future__ import annotations

from penstock.decide.policies.weir import WeirPolicy
from penstock.knobs import Setting


class NoWandering(WeirPolicy):
    """Unsteady work is treated like any other."""

    name = "no-wandering"

    def _is_unsteady(self, place: Setting) -> bool:
        return False


POLICY = NoWandering
