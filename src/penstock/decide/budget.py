"""The node's budget for dirty data (written by applications, not yet sent).

This is the only module that compares dirty limits with the budget. The cache tuner calls `cut_down` to make its
shares fit. The guard calls `over_mib` before it lets a limit rise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.snapshot import Target
from penstock.units import MIB


@dataclass(frozen=True, slots=True)
class CacheBudget:
    """The dirty data that all targets together may hold, and the values that one target's limit may take."""

    node_mib: float
    values_mib: tuple[int, ...] = (32, 64, 128, 256, 512, 1024, 2047)

    def at_least(self, wanted_bytes: float) -> int:
        """The smallest value that holds `wanted_bytes`, or the largest value if none does."""
        return next((value for value in self.values_mib if value * MIB >= wanted_bytes), self.values_mib[-1])

    def over_mib(self, limits_mib: Mapping[Target, float], elsewhere_mib: float = 0.0) -> float:
        """By how much these limits and those held elsewhere pass the budget; 0 where they fit.

        >>> CacheBudget(600).over_mib({Target("a", "fs"): 512, Target("b", "fs"): 128})
        40.0
        """
        return max(0.0, sum(limits_mib.values()) + elsewhere_mib - self.node_mib)

    def cut_down(self, limits_mib: Mapping[Target, int]) -> dict[Target, int]:
        """The same limits, lowered one step at a time, the largest first, until they fit or all have the smallest
        value.
        """
        limits, smallest = dict(limits_mib), self.values_mib[0]
        over = self.over_mib(limits)
        while over > 0:
            target = max(limits, key=lambda candidate: (limits[candidate], candidate))
            if limits[target] <= smallest:
                break
            lower = max(value for value in self.values_mib if value < limits[target])
            over -= limits[target] - lower
            limits[target] = lower
        return limits
