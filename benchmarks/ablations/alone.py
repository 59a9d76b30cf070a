"""`weir` without tuning groups: every target learns for itself."""

from __future__ import annotations

from penstock.decide.policies.weir import WeirPolicy


class Alone(WeirPolicy):
    """One policy a target."""

    name = "alone"
    in_groups = False


POLICY = Alone
