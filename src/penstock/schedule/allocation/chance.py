"""The baseline: any legal count, drawn at random."""

from __future__ import annotations

from random import Random

from penstock.schedule.allocation._base import Allocation, Allocator
from penstock.schedule.sharing import Sharing


class RandomAllocator(Allocator):
    """Each application's count is uniform over the counts it may have."""

    name = "random"
    needs = frozenset[str]()

    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        return Allocation(tuple(rng.randint(1, demand.limit) for demand in sharing.demands))
