"""Each application gets the count that loads the I/O system least."""

from __future__ import annotations

from random import Random

from penstock.schedule.allocation._base import Allocation, Allocator
from penstock.schedule.sharing import Sharing


class LeastStressAllocator(Allocator):
    """n_sys for each application: no allocation has a lower I/O-load."""

    name = "nsys"
    needs = frozenset({"volume", "compute", "curve"})

    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        return Allocation(tuple(demand.n_sys for demand in sharing.demands))
