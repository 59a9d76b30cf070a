"""The table of policies by name.

A policy is one small file. The checks in `penstock.testing.policies` apply to all of them. A file with one policy
names it `POLICY`. A file with several lists them by name in `POLICIES`.
"""

from __future__ import annotations

from importlib import import_module

from penstock.decide.policies._base import Policy, Proposal
from penstock.errors import UsageError, did_you_mean

_HOMES = {
    "default": "default",
    "fixed": "fixed",
    "random": "random_walk",
    "climb": "climb",
    "carat": "carat",
    "carat-authors": "carat_authors",
    "carat-log2": "carat_variants",
    "carat-veto": "carat_variants",
    "carat-history": "carat_variants",
    "carat-soft": "carat_variants",
    "carat-full": "carat_variants",
    "carat-budget": "carat_variants",
    "carat-tuned": "carat_variants",
    "cache-printed": "carat_variants",
    "cache-fitted": "carat_variants",
    "dial": "dial",
    "greedy": "greedy",
    "epsilon-greedy": "epsilon_greedy",
    "weir": "weir",
}
POLICY_NAMES = tuple(_HOMES)
# These need the simulator or a library that agents do not have. They are defined in `penstock.evaluate`.
EXPERIMENT_NAMES = ("bayes", "best-static", "oracle")

__all__ = ["EXPERIMENT_NAMES", "POLICY_NAMES", "Policy", "Proposal", "policy_class"]


def policy_class(name: str) -> type[Policy]:
    """The class of the policy with this name. Its module is imported on first use."""
    if name in EXPERIMENT_NAMES:
        raise UsageError(
            f"policy {name!r} exists only in experiments: see penstock simulate run and evaluate"
        )
    if name not in _HOMES:
        raise UsageError(f"unknown policy {name!r}{did_you_mean(name, POLICY_NAMES)}")
    module = import_module(f"penstock.decide.policies.{_HOMES[name]}")
    found: type[Policy] = module.POLICIES[name] if hasattr(module, "POLICIES") else module.POLICY
    return found
