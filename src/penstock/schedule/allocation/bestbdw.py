"""Each application gets the count that makes its own I/O fastest."""

from __future__ import annotations

from random import Random

from penstock.schedule.allocation._base import Allocation, Allocator
from penstock.schedule.sharing import Sharing


class BestBandwidthAllocator(Allocator):
    """n_perf for each application, without regard to contention."""

    name = "bestbdw"
    needs = frozenset({"best-count"})

    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        return Allocation(tuple(demand.n_perf for demand in sharing.demands))
