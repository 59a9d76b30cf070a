"""`weir` without a price for bytes and requests in flight: what others lose is not asked."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from penstock.decide.habits import HABITS
from penstock.decide.policies.weir import WeirPolicy
from penstock.knobs import KnobSpace


class NoPrices(WeirPolicy):
    """Every candidate is as good as its gain."""

    name = "no-prices"

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng, replace(HABITS, fair_log2=0.0, crowd_log2=0.0))


POLICY = NoPrices
