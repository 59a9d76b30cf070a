"""CARAT that divides the cache to the MiB within the node's budget, by what targets need."""

from __future__ import annotations

from pathlib import Path

from penstock.agent.plugins import find_policy
from penstock.decide.policies.carat import CaratPolicy


class BudgetPolicy(CaratPolicy):
    """The printed algorithm with the cache shared as `cache_fitted.py` does."""

    name = "carat-budget"
    cache_rule = find_policy(str(Path(__file__).with_name("cache_fitted.py"))).cache_rule


POLICY = BudgetPolicy
