"""Resources in proportion to compute nodes, as in systems with fixed wiring to I/O nodes."""

from __future__ import annotations

from random import Random

from penstock.schedule.allocation._base import Allocation, Allocator
from penstock.schedule.sharing import Sharing


class StaticAllocator(Allocator):
    """An application's share of the compute nodes, rounded half up, within 1 .. its limit."""

    name = "static"
    needs = frozenset({"nodes"})

    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        return Allocation(tuple(_share(sharing, d.compute_nodes, d.limit) for d in sharing.demands))


def _share(sharing: Sharing, nodes: int, limit: int) -> int:
    rounded = (2 * nodes * sharing.resources + sharing.compute_nodes) // (2 * sharing.compute_nodes)
    return min(max(rounded, 1), limit)
