"""The baseline: any resources, drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from penstock.schedule.allocation import Sharing
from penstock.schedule.placement._base import Placement, Placer


class RandomPlacer(Placer):
    """Each application's resources are a uniform sample, whatever the others have."""

    name = "random"
    needs = frozenset[str]()

    def place(self, sharing: Sharing, counts: Sequence[int], rng: Random) -> Placement:
        return tuple(tuple(sorted(rng.sample(range(sharing.resources), count))) for count in counts)
