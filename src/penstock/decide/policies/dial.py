"""DIAL, CARAT's predecessor: the same score for the RPC knobs, without cache tuning."""

from __future__ import annotations

from penstock.decide.policies.carat import CaratPolicy


class DialPolicy(CaratPolicy):
    """CARAT's stage 1 only."""

    name = "dial"
    tunes_cache = False


POLICY = DialPolicy
