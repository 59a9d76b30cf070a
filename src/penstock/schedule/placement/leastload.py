"""Balances the I/O time per resource, from the known I/O share of every application."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from penstock.schedule.allocation import Sharing
from penstock.schedule.placement._base import Placement, Placer


class ClairvoyantPlacer(Placer):
    """Places applications in the order of their I/O share, each on the least used resources.

    The largest congestion-free I/O share comes first (then the smallest count, then file order). It gets the
    resources with the lowest sum of shares so far (then the lowest id).
    """

    name = "greedy-clairvoyant"
    needs = frozenset({"volume", "compute", "curve"})

    def place(self, sharing: Sharing, counts: Sequence[int], rng: Random) -> Placement:
        import numpy as np

        ratios = [demand.io_ratio(n) for demand, n in zip(sharing.demands, counts, strict=True)]
        placed: list[tuple[int, ...]] = [()] * len(counts)
        occupancy = np.array(sharing.load())
        for index in sorted(range(len(counts)), key=lambda index: (-ratios[index], counts[index], index)):
            lowest = np.sort(np.argsort(occupancy, kind="stable")[: counts[index]])
            occupancy[lowest] += ratios[index]
            placed[index] = tuple(lowest.tolist())
        return tuple(placed)
