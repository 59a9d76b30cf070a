"""The cache tuner: CARAT's Algorithm 2, as printed and in a version that respects the node's budget.

The paper leaves some points open. They are decided like this:

- A demand above the largest value gets the largest value.
- Where nothing was written, only the other two factors count.
- D_max is the node's budget.
- "Collected metrics" are those of the target's last active stage and of the stage that has just begun.

`as_printed` may exceed the budget, and mostly does, because it rounds three factors up. `allocate` lowers its result,
the largest share first, until it fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from penstock.decide.budget import CacheBudget
from penstock.decide.habits import CLEARLY, FULL
from penstock.ratios import in_flight, request_bytes
from penstock.snapshot import Target
from penstock.units import MIB
from penstock.window import Window


@dataclass(slots=True)
class Demand:
    """What one target needed during an active stage.

    `fullest` is the highest share of the dirty limit that was in use. It is kept beside the bytes because the limit
    itself changes.
    """

    write_bytes: float = 0.0
    peak_dirty_bytes: float = 0.0
    peak_flight_bytes: float = 0.0
    fullest: float = 0.0
    windows: int = 0

    def take(self, window: Window, utilisation: float | None = None) -> None:
        """Add one window. `utilisation` is the share of the dirty limit in use, if it is known."""
        self.write_bytes += window.metrics.get("write.bytes", 0.0)
        self.peak_dirty_bytes = max(self.peak_dirty_bytes, window.metrics.get("dirty.bytes", 0.0))
        sent_at_once = (in_flight(window, "write") or 0.0) * (request_bytes(window, "write") or 0.0)
        self.peak_flight_bytes = max(self.peak_flight_bytes, sent_at_once)
        self.fullest = max(self.fullest, utilisation or 0.0)
        self.windows += 1

    def __add__(self, other: Demand) -> Demand:
        return Demand(
            self.write_bytes + other.write_bytes,
            max(self.peak_dirty_bytes, other.peak_dirty_bytes),
            max(self.peak_flight_bytes, other.peak_flight_bytes),
            max(self.fullest, other.fullest),
            self.windows + other.windows,
        )


@dataclass(slots=True)
class DemandHistory:
    """A target's demand in its last active stage and in the present one: the input of Algorithm 2.

    Both are needed because a stage that has just begun consists of a single window.
    """

    last: Demand = field(default_factory=Demand)
    present: Demand = field(default_factory=Demand)

    def take(self, window: Window, utilisation: float | None, *, resumed: bool) -> None:
        """Add one window. `resumed` says that it is the first of an active stage."""
        if resumed:
            self.last, self.present = self.present, Demand()
        self.present.take(window, utilisation)

    @property
    def demand(self) -> Demand:
        """Both stages combined."""
        return self.last + self.present


def allocate(
    active: Mapping[Target, Demand], inactive: Iterable[Target], budget: CacheBudget
) -> dict[Target, int]:
    """Dirty limits in MiB for every target. Their sum fits the budget unless even the smallest values exceed it."""
    return budget.cut_down(as_printed(active, inactive, budget))


def sparing(
    shares: Mapping[Target, int],
    held: Mapping[Target, float],
    active: Mapping[Target, Demand],
    budget: CacheBudget,
) -> dict[Target, int]:
    """The part of an allocation that takes nothing away from a busy target.

    Only busy targets that reached their limit are raised, and only by a clear factor. Idle targets are lowered only
    to make room for that. The result is empty if nothing needs raising or if the new limits do not fit the budget.
    """
    full = {t for t, demand in active.items() if demand.peak_dirty_bytes >= FULL * held[t] * MIB}
    raised = {target: shares[target] for target in full if shares[target] >= CLEARLY * held[target]}
    lowered = {t: share for t, share in shares.items() if t not in active and share < held[t]}
    fits = budget.over_mib({**held, **lowered, **raised}) == 0
    return {**lowered, **raised} if raised and fits else {}


def as_printed(
    active: Mapping[Target, Demand], inactive: Iterable[Target], budget: CacheBudget
) -> dict[Target, int]:
    """Algorithm 2 exactly as printed. The sum may exceed the budget, because every factor is rounded up."""
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


@dataclass(frozen=True, slots=True)
class CacheRule:
    """How limits follow from demands. A target counts as active for `lingers_s` after its last request."""

    shares: Callable[[Mapping[Target, Demand], Iterable[Target], CacheBudget], dict[Target, int]]
    lingers_s: float = 0.0


PRINTED = CacheRule(as_printed)
