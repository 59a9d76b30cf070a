"""An adversary: always 4 pages and 1 request in flight, which is slow nearly everywhere."""

from __future__ import annotations

from random import Random

from penstock.decide.policies.fixed import FixedPolicy
from penstock.knobs import KnobSpace, Setting


class Always4x1(FixedPolicy):
    """Asks for the same setting in every window, whatever it brings."""

    name = "always-4-1"

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng, space.clipped(Setting(pages=4, flight=1)))


POLICY = Always4x1
