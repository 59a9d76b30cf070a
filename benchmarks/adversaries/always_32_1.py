"""An adversary: always 32 pages and 1 request in flight, which is slow but where data is rewritten in memory."""

from __future__ import annotations

from random import Random

from penstock.decide.policies.fixed import FixedPolicy
from penstock.knobs import KnobSpace, Setting


class Always32x1(FixedPolicy):
    """Asks for the same setting in every window, whatever it brings."""

    name = "always-32-1"

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng, space.clipped(Setting(pages=32, flight=1)))


POLICY = Always32x1
