"""`weir` without relief for a direction that starves beside the other."""

from __future__ import annotations

from random import Random

from penstock.decide.policies.weir import WeirPolicy
from penstock.decide.starving import Relief
from penstock.knobs import KnobSpace


class Never(Relief):
    """A relief whose time never comes."""

    def waits(self, now: int) -> bool:
        """It is always too early."""
        return True


class NoRelief(WeirPolicy):
    """Who starves is helped only if a survey expects it."""

    name = "no-relief"

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng)
        self._relief = Never()


POLICY = NoRelief
