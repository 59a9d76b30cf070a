"""Balances the number of applications per resource, without information about them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from penstock.schedule.allocation import Sharing
from penstock.schedule.placement._base import Placement, Placer


class NonClairvoyantPlacer(Placer):
    """Places the largest counts first (then file order), round-robin over the resources.

    The numbers of applications on any two resources differ by at most one.
    """

    name = "greedy-non-clairvoyant"
    needs = frozenset[str]()

    def place(self, sharing: Sharing, counts: Sequence[int], rng: Random) -> Placement:
        placed: list[tuple[int, ...]] = [()] * len(counts)
        start = 0
        for index in sorted(range(len(counts)), key=lambda index: (-counts[index], index)):
            ids = (position % sharing.resources for position in range(start, start + counts[index]))
            placed[index] = tuple(sorted(ids))
            start += counts[index]
        return tuple(placed)
