"""`weir` that stays where other work of the same targets left a setting behind, and measures it."""

from __future__ import annotations

from penstock.decide.policies.weir import WeirPolicy
from penstock.knobs import Setting


class Stays(WeirPolicy):
    """Every setting in force is taken for its own."""

    name = "stays"

    def _is_foreign(self, place: Setting) -> bool:
        return False


POLICY = Stays
