"""`weir` without a price for bytes and requests in flight: what others lose is not asked. The guard still asks it."""

from __future__ import annotations

from dataclasses import replace

from penstock.decide.guard.offer import Offer
from penstock.decide.policies.weir import WeirPolicy


class NoPrices(WeirPolicy):
    """Every candidate is as good as its gain."""

    name = "no-prices"

    def offered(self, offer: Offer) -> None:
        """What may be chosen, at no price."""
        super().offered(replace(offer, limits=replace(offer.limits, fair_share=0.0, crowd_log2=0.0)))


POLICY = NoPrices
