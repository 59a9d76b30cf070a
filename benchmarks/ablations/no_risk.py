"""`weir` without counting what a trial may lose: only the expected improvement decides."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from penstock.decide.habits import HABITS
from penstock.decide.policies.weir import WeirPolicy
from penstock.knobs import KnobSpace


class NoRisk(WeirPolicy):
    """Losses of a trial are left to the guard."""

    name = "no-risk"

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng, replace(HABITS, caution=0.0, risk_of_writes=0.0))


POLICY = NoRisk
