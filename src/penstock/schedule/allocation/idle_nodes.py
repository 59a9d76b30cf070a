"""Our online rule: each application where the fewest compute nodes are idle, given all others."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from penstock.schedule.allocation._base import Allocation, Allocator
from penstock.schedule.resource_use import Occupancy, bearable, fewest_idle, options_of
from penstock.schedule.sharing import Sharing
from penstock.schedule.turns import settle_in_turn


@dataclass(frozen=True, slots=True)
class _Places:
    resources: tuple[int, ...]


class IdleNodesAllocator(Allocator):
    """Each application in file order, on the least occupied resources, while all the others are there.

    A count is weighed by the compute nodes that the application's own I/O leaves idle and by those that its I/O costs
    the users of the same resources. Counts that saturate the system are avoided. On a tie the fastest count wins.
    """

    name = "idle-nodes"
    needs = frozenset({"nodes", "volume", "compute", "curve"})
    places = True

    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        """Counts and resources: the count depends on the resources that are there to be had."""
        occupancy = Occupancy(sharing.resources, sharing.held, measured=sharing.measured)
        demands = sharing.demands

        def choose(index: int) -> _Places:
            demand, count = demands[index], 1
            if demand.io_bytes > 0:
                count = fewest_idle(bearable(list(options_of(occupancy, demand)), occupancy)[0]).count
            return _Places(tuple(sorted(occupancy.idlest(count))))

        placed = tuple(one.resources for one in settle_in_turn(occupancy, demands, choose))
        return Allocation(tuple(map(len, placed)), placed)
