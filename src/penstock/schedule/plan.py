"""Makes a schedule: runs an allocator and a placer by name on a set, or takes the placement given in the set."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from penstock.errors import DataError
from penstock.schedule.allocation import ALLOCATORS, Allocation, PrintedComputeLoadAllocator, Sharing
from penstock.schedule.application import ApplicationSet
from penstock.schedule.demand import demands_of, fits, io_load
from penstock.schedule.placement import PLACERS, Placement

GIVEN = "given"


@dataclass(frozen=True, slots=True)
class Allocated:
    """Counts and the load they cause. `placement` is set if the allocator also places."""

    counts: tuple[int, ...]
    placement: Placement | None
    io_load: float

    @property
    def saturated(self) -> bool:
        """Whether the applications ask for more I/O time than there is."""
        return not fits(self.io_load)


def sharing_of(workload: ApplicationSet) -> Sharing:
    """The set as an allocator sees it."""
    return Sharing(workload.resources, workload.compute_nodes, demands_of(workload))


def allocate(workload: ApplicationSet, name: str, rng: Random, *, as_printed: bool = False) -> Allocated:
    """Counts by the allocator called `name`, or `given` for those in the set."""
    sharing = sharing_of(workload)
    if name == GIVEN:
        allocation = Allocation(tuple(len(ids) for ids in given_placement(workload)))
    elif as_printed and name == "tcpu":
        allocation = PrintedComputeLoadAllocator().allocate(sharing, rng)
    else:
        allocation = ALLOCATORS[name]().allocate(sharing, rng)
    load = io_load(sharing.demands, allocation.counts, sharing.resources)
    return Allocated(allocation.counts, allocation.placement, load)


def place(workload: ApplicationSet, allocated: Allocated, name: str, rng: Random) -> Placement:
    """Resources by the placer called `name`, `given`, or the allocator's own where it has placed already."""
    if allocated.placement is not None:
        return allocated.placement
    if name != GIVEN:
        return PLACERS[name]().place(sharing_of(workload), allocated.counts, rng)
    placement = given_placement(workload)
    for application, ids, count in zip(workload.applications, placement, allocated.counts, strict=True):
        if len(ids) != count:
            raise DataError(
                f"{application.name}: resources: {len(ids)} are given, but the allocation is {count}"
            )
    return placement


def given_placement(workload: ApplicationSet) -> Placement:
    """The resources written in the set; every application must have them."""
    for application in workload.applications:
        if application.resources is None:
            raise DataError(f"{application.name}: resources: missing, but to be taken as given")
    return tuple(application.resources or () for application in workload.applications)
