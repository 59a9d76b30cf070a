"""The cache tuner: CARAT's Algorithm 2, as printed and inside a node's budget.

Decided where the paper is silent: a demand above the largest value gets the largest; where nothing was written only
the other two factors count; D_max is the node's budget. "Collected metrics" are those of a target's last active stage
and of the one that has just begun. `allocate` steps an allocation whose sum passes the budget down, the largest share
first (rounding three factors up passes it most of the time); `fitted` shares the budget out to the MiB instead, and
keeps a share for targets that were active a moment ago: a burst fills a cache before anybody can raise its limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.decide.budget import CacheBudget
from penstock.ratios import in_flight, request_bytes
from penstock.snapshot import Target
from penstock.units import MIB
from penstock.window import Window

# A target whose unwritten data came this close to its limit was held up by it; a limit that rises by less than the
# other factor is not worth a change.
FULL = 0.9
CLEARLY = 1.5
# So many windows of a target tell what it needs; and so long after its last request it may come back for it.
TELLING_WINDOWS = 6
LINGERS_S = 30.0


@dataclass(slots=True)
class Demand:
    """What one target showed during an active stage, in so many windows.

    `fullest` is the largest share of its limit that was ever unwritten: limits move, so bytes alone do not tell.
    """

    write_bytes: float = 0.0
    peak_dirty_bytes: float = 0.0
    peak_flight_bytes: float = 0.0
    fullest: float = 0.0
    windows: int = 0

    def take(self, window: Window, utilisation: float | None = None) -> None:
        """Add one window, with the share of its limit that was unwritten where that is known."""
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
    """What a target showed in its last active stage and in the present one: what Algorithm 2 goes by.

    A stage that began in this very interval has shown one window; the one before it has shown what it needs.
    """

    last: Demand = field(default_factory=Demand)
    present: Demand = field(default_factory=Demand)

    def take(self, window: Window, utilisation: float | None, *, resumed: bool) -> None:
        """Add one window; `resumed` where it is the first of an active stage."""
        if resumed:
            self.last, self.present = self.present, Demand()
        self.present.take(window, utilisation)

    @property
    def demand(self) -> Demand:
        """Both stages together."""
        return self.last + self.present


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


def fitted(
    active: Mapping[Target, Demand], inactive: Iterable[Target], budget: CacheBudget
) -> dict[Target, int]:
    """Limits in MiB that use the budget: what requests in flight need first, the rest in equal parts.

    A target that never filled its limit gets a quarter more than its peak and leaves the rest to those that did.
    Equal parts, not parts by volume: volume is what a limit let through.
    """
    smallest, largest = budget.values_mib[0], budget.values_mib[-1]
    idle = list(inactive)
    room = budget.node_mib - smallest * len(idle)
    limits = dict.fromkeys(idle, float(smallest))
    needs = {t: min(max(smallest, d.peak_flight_bytes / MIB), largest) for t, d in active.items()}
    above = sum(need - smallest for need in needs.values())
    shrink = min(1.0, max(0.0, room - smallest * len(active)) / above) if above else 1.0
    floors = {t: smallest + shrink * (need - smallest) for t, need in needs.items()}
    caps = {t: _cap(demand, floors[t], largest) for t, demand in active.items()}
    shares = _poured(floors, caps, room - sum(floors.values()))
    shares = _poured(shares, dict.fromkeys(active, float(largest)), room - sum(shares.values()))
    return {target: int(limit + 1e-6) for target, limit in {**limits, **shares}.items()}


def _cap(demand: Demand, floor_mib: float, largest: float) -> float:
    """The most a target can use: unknown where it filled what it had, and as long as it has shown little."""
    unknown = demand.fullest >= FULL or demand.windows < TELLING_WINDOWS
    return largest if unknown else min(max(1.25 * demand.peak_dirty_bytes / MIB, floor_mib), largest)


def _poured(levels: Mapping[Target, float], caps: Mapping[Target, float], room: float) -> dict[Target, float]:
    """Levels raised alike until the room is used or everybody is at the cap."""
    found = dict(levels)
    while room > 1e-6 and (rising := [t for t in found if found[t] < caps[t] - 1e-9]):
        step = min(room / len(rising), *(caps[t] - found[t] for t in rising))
        for target in rising:
            found[target] += step
        room -= step * len(rising)
    return found
