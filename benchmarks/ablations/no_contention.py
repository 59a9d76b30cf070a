"""`weir` that asks no more of requests in flight where all slots are full, and gambles there too."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from penstock.decide.habits import HABITS
from penstock.decide.policies.weir import WeirPolicy
from penstock.knobs import KnobSpace


class NoContention(WeirPolicy):
    """Slots never count as full."""

    name = "no-contention"

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng, replace(HABITS, contended_from=1e6, contended_full=2e6))


POLICY = NoContention
