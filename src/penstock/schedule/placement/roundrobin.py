"""Balances the number of applications per resource, without information about them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from penstock.schedule.allocation import Sharing
from penstock.schedule.placement._base import Placement, Placer


class NonClairvoyantPlacer(Placer):
    """Places the largest counts first (then file order), each on the resources with the fewest users.

    Of equal resources the lowest id comes first, so that on an idle platform this is round-robin. There, the numbers
    of applications on any two resources differ by at most one.
    """

    name = "greedy-non-clairvoyant"
    needs = frozenset[str]()

    def place(self, sharing: Sharing, counts: Sequence[int], rng: Random) -> Placement:
        import numpy as np

        placed: list[tuple[int, ...]] = [()] * len(counts)
        users = np.array(sharing.users())
        for index in sorted(range(len(counts)), key=lambda index: (-counts[index], index)):
            fewest = np.sort(np.argsort(users, kind="stable")[: counts[index]])
            users[fewest] += 1
            placed[index] = tuple(fewest.tolist())
        return tuple(placed)
