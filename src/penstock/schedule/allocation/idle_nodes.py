"""Our online rule: one application after another, each where the fewest compute nodes are idle."""

from __future__ import annotations

from random import Random

from penstock.schedule.allocation._base import Allocation, Allocator
from penstock.schedule.demand import Demand
from penstock.schedule.resource_use import Occupancy, bearable, fewest_idle, options_of
from penstock.schedule.sharing import HeldShare, Sharing


class IdleNodesAllocator(Allocator):
    """Each application in file order, on the least occupied resources, without moving those before it.

    A count is weighed by the compute nodes that the application's own I/O leaves idle and by those that its I/O costs
    the users of the same resources. Counts that saturate the system are avoided. On a tie the smallest count wins.
    """

    name = "idle-nodes"
    needs = frozenset({"nodes", "volume", "compute", "curve"})
    places = True

    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        """Counts and resources: the count depends on the resources that are there to be had."""
        occupancy = Occupancy(sharing.resources, sharing.held, measured=sharing.measured)
        placed = []
        for demand in sharing.demands:
            count = 1
            if demand.io_bytes > 0:
                count = fewest_idle(bearable(list(options_of(occupancy, demand)), occupancy)[0]).count
            ids = tuple(sorted(occupancy.order[:count]))
            occupancy.add(held_at(demand, ids))
            placed.append(ids)
        return Allocation(tuple(map(len, placed)), tuple(placed))


def held_at(demand: Demand, resources: tuple[int, ...]) -> HeldShare:
    """An application as it runs on its resources."""
    count = len(resources)
    slowdown = demand.bandwidth[demand.n_perf] / demand.bandwidth[count]
    return HeldShare(demand.compute_nodes, demand.compute_s, demand.io_s[count], slowdown, count, resources)
