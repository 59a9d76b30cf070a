"""The cache tuner: CARAT's Algorithm 2, with a hard limit on what all targets of a node may hold together.

Decided where the paper is silent: a demand above the largest value gets the largest; where nothing was
written only the other two factors count; an allocation whose sum passes the node's budget (rounding up to
powers of two can do that) is stepped down, the largest share first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.decide.budget import CacheBudget
from penstock.ratios import in_flight, request_bytes
from penstock.snapshot import Target
from penstock.units import MIB
from penstock.window import Window

# A target whose unwritten data came this close to its limit was held up by it; a limit that rises by less than the
# other factor is not worth a change.
FULL = 0.9
CLEARLY = 1.5


@dataclass(slots=True)
class Demand:
    """What one target showed during an active stage."""

    write_bytes: float = 0.0
    peak_dirty_bytes: float = 0.0
    peak_flight_bytes: float = 0.0

    def take(self, window: Window) -> None:
        """Add one window."""
        self.write_bytes += window.metrics.get("write.bytes", 0.0)
        self.peak_dirty_bytes = max(self.peak_dirty_bytes, window.metrics.get("dirty.bytes", 0.0))
        sent_at_once = (in_flight(window, "write") or 0.0) * (request_bytes(window, "write") or 0.0)
        self.peak_flight_bytes = max(self.peak_flight_bytes, sent_at_once)


def allocate(
    active: Mapping[Target, Demand], inactive: Iterable[Target], budget: CacheBudget
) -> dict[Target, int]:
    """Dirty limits in MiB for every target; their sum stays within the node's budget wherever it can."""
    return budget.cut_down(as_printed(active, inactive, budget))


def sparing(
    shares: Mapping[Target, int],
    held: Mapping[Target, float],
    active: Mapping[Target, Demand],
    budget: CacheBudget,
) -> dict[Target, int]:
    """The same, for policies that take nothing from a target at work.

    A busy target that reached its limit may get clearly more; idle ones give up theirs only for that, and only if all
    of it fits the budget. Empty where nothing is worth changing.
    """
    full = {t for t, demand in active.items() if demand.peak_dirty_bytes >= FULL * held[t] * MIB}
    raised = {target: shares[target] for target in full if shares[target] >= CLEARLY * held[target]}
    lowered = {t: share for t, share in shares.items() if t not in active and share < held[t]}
    fits = budget.over_mib({**held, **lowered, **raised}) == 0
    return {**lowered, **raised} if raised and fits else {}


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
