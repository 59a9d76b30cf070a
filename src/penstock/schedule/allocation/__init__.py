"""The allocators, by their names on the command line."""

from __future__ import annotations

from penstock.schedule.allocation._base import Allocation, Allocator
from penstock.schedule.allocation.balance import BalanceAllocator
from penstock.schedule.allocation.bestbdw import BestBandwidthAllocator
from penstock.schedule.allocation.chance import RandomAllocator
from penstock.schedule.allocation.idle_nodes import IdleNodesAllocator
from penstock.schedule.allocation.mckp import KnapsackAllocator
from penstock.schedule.allocation.nsys import LeastStressAllocator
from penstock.schedule.allocation.static import StaticAllocator
from penstock.schedule.allocation.tcpu import ComputeLoadAllocator, PrintedComputeLoadAllocator
from penstock.schedule.sharing import Sharing

ALLOCATORS: dict[str, type[Allocator]] = {
    allocator.name: allocator
    for allocator in (
        RandomAllocator,
        StaticAllocator,
        BestBandwidthAllocator,
        LeastStressAllocator,
        ComputeLoadAllocator,
        KnapsackAllocator,
        BalanceAllocator,
        IdleNodesAllocator,
    )
}

__all__ = ["ALLOCATORS", "Allocation", "Allocator", "PrintedComputeLoadAllocator", "Sharing"]
