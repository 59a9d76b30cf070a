"""The cache tuner: CARAT's Algorithm 2, with a hard limit on what all targets of a node may hold together.

Decided where the paper is silent: a demand above the largest value gets the largest; where nothing was
written only the other two factors count; an allocation whose sum passes the node's budget (rounding up to
powers of two can do that) is stepped down, the largest share first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.snapshot import Target
from penstock.units import MIB, PAGE_BYTES
from penstock.window import Window


@dataclass(slots=True)
class Demand:
    """What one target showed during an active stage."""

    write_bytes: float = 0.0
    peak_dirty_bytes: float = 0.0
    peak_flight_bytes: float = 0.0

    def take(self, window: Window) -> None:
        """Add one window."""
        self.write_bytes += window.metrics.get("write.bytes") or 0.0
        dirty = (window.metrics.get("dirty.utilisation") or 0.0) * window.setting["dirty"] * MIB
        self.peak_dirty_bytes = max(self.peak_dirty_bytes, dirty)
        self.peak_flight_bytes = max(self.peak_flight_bytes, _in_flight_bytes(window))


def _in_flight_bytes(window: Window) -> float:
    requests = (window.metrics.get("write.channel_utilisation") or 0.0) * window.setting["flight"]
    request_pages = (window.metrics.get("write.page_utilisation") or 0.0) * window.setting["pages"]
    return requests * request_pages * PAGE_BYTES


@dataclass(frozen=True, slots=True)
class CacheBudget:
    """What the node grants: the limit for all targets together, and the values one target may have."""

    node_mib: int
    values_mib: tuple[int, ...] = (32, 64, 128, 256, 512, 1024, 2047)

    def at_least(self, wanted_bytes: float) -> int:
        """The smallest value that holds the wanted bytes; the largest where none does."""
        return next((value for value in self.values_mib if value * MIB >= wanted_bytes), self.values_mib[-1])


def allocate(
    active: Mapping[Target, Demand], inactive: Iterable[Target], budget: CacheBudget
) -> dict[Target, int]:
    """Dirty limits in MiB for every target; their sum stays within the node's budget wherever it can."""
    return _within(as_printed(active, inactive, budget), budget)


def as_printed(
    active: Mapping[Target, Demand], inactive: Iterable[Target], budget: CacheBudget
) -> dict[Target, int]:
    """Algorithm 2 to the letter: the sum may pass the budget, because every factor is rounded up."""
    smallest, largest = budget.values_mib[0], budget.values_mib[-1]
    limits = dict.fromkeys(inactive, smallest)
    total_bytes = sum(demand.write_bytes for demand in active.values())
    for target, demand in active.items():
        if budget.node_mib >= largest * len(active):
            limits[target] = largest
            continue
        share = demand.write_bytes / total_bytes if total_bytes > 0 else 0.0
        factors = (demand.peak_dirty_bytes, demand.peak_flight_bytes, share * budget.node_mib * MIB)
        limits[target] = max(budget.at_least(factor) for factor in factors)
    return limits


def _within(limits: dict[Target, int], budget: CacheBudget) -> dict[Target, int]:
    smallest = budget.values_mib[0]
    total = sum(limits.values())
    while total > budget.node_mib:
        target = max(limits, key=lambda candidate: (limits[candidate], candidate))
        if limits[target] <= smallest:
            break
        lower = max(value for value in budget.values_mib if value < limits[target])
        total -= limits[target] - lower
        limits[target] = lower
    return limits
