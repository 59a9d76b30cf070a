"""`weir` that asks for changes where the page cache does much of the work; the guard still refuses most of them."""

from __future__ import annotations

from random import Random

from penstock.decide.policies.weir import WeirPolicy
from penstock.decide.work import CacheShare
from penstock.knobs import KnobSpace
from penstock.window import Window


class Unseen(CacheShare):
    """A page cache that never seems to do anything."""

    def take(self, window: Window) -> None:
        """Look away."""


class NoCacheRule(WeirPolicy):
    """The page cache is the guard's business alone."""

    name = "no-cache-rule"

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng)
        self._cache_share = Unseen()


POLICY = NoCacheRule
