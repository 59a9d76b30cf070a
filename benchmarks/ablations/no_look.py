"""`weir` for which all surveyed cases of a kind of work count alike, whatever they look like."""

from __future__ import annotations

from random import Random

from penstock.decide.belief import Knowledge
from penstock.decide.policies.weir import WeirPolicy
from penstock.knobs import KnobSpace


class NoLook(WeirPolicy):
    """No counter at the default is compared with those of surveyed cases."""

    name = "no-look"

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng)
        self._known = Knowledge(looks={})


POLICY = NoLook
