"""DIAL, CARAT's predecessor: the same score for the RPC knobs, and the cache left alone."""

from __future__ import annotations

from penstock.decide.policies.carat import CaratPolicy


class DialPolicy(CaratPolicy):
    """Stage 1 only."""

    name = "dial"
    tunes_cache = False


POLICY = DialPolicy
