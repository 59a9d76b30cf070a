"""Stage 2 of CARAT alone, divided to the MiB within the node's budget. The RPC knobs stay as they are.

It keeps a share for targets that were active a moment ago, because a burst fills a cache before anybody can raise its
limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.decide.budget import CacheBudget
from penstock.decide.cache_shares import CacheRule, Demand
from penstock.decide.habits import FULL
from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.snapshot import Target
from penstock.units import MIB
from penstock.window import Window

# A target's demand is known after TELLING_WINDOWS windows. A target keeps its share for LINGERS_S after its last
# request, because its application may come back.
TELLING_WINDOWS = 6
LINGERS_S = 30.0


def fitted(
    active: Mapping[Target, Demand], inactive: Iterable[Target], budget: CacheBudget
) -> dict[Target, int]:
    """Limits in MiB that use the whole budget.

    Each active target first gets what its requests in flight need. The rest is divided equally. A target that never
    filled its limit is capped at its peak plus a quarter, and leaves the rest to the others. The rest is not divided
    by volume, because a target's volume depends on the limit it had.
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
    """The most a target can use.

    It is unknown (the largest value) if the target filled its limit or showed few windows.
    """
    unknown = demand.fullest >= FULL or demand.windows < TELLING_WINDOWS
    return largest if unknown else min(max(1.25 * demand.peak_dirty_bytes / MIB, floor_mib), largest)


def _poured(levels: Mapping[Target, float], caps: Mapping[Target, float], room: float) -> dict[Target, float]:
    """Raise all levels by equal amounts until the room is used up or every target is at its cap."""
    found = dict(levels)
    while room > 1e-6 and (rising := [t for t in found if found[t] < caps[t] - 1e-9]):
        step = min(room / len(rising), *(caps[t] - found[t] for t in rising))
        for target in rising:
            found[target] += step
        room -= step * len(rising)
    return found


class FittedCachePolicy(Policy):
    """Tunes the cache only, within the node's budget."""

    name = "cache-fitted"
    tunes_cache = True
    cache_rule = CacheRule(fitted, LINGERS_S)

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Propose no change. The tuner adds cache limits when an active stage begins."""
        return Proposal(window.setting, "hold", "only the cache is tuned")


POLICY = FittedCachePolicy
