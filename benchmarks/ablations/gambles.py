"""`weir` that tries settings for work with writes although nothing is expected to gain there."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from penstock.decide.habits import HABITS
from penstock.decide.policies.weir import WeirPolicy
from penstock.knobs import KnobSpace


class Gambles(WeirPolicy):
    """An expected loss is no reason against a trial that may gain."""

    name = "gambles"

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng, replace(HABITS, keep_log2=-9.0))


POLICY = Gambles
