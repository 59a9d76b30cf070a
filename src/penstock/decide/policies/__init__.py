"""The policies by name. A policy is one small file; the suite in `penstock.testing.policies` is its law.

A file with one policy names it `POLICY`, one with several lists them in `POLICIES` by name.
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
# They need the simulated world itself, or a library no agent has; `penstock.evaluate` knows them.
EXPERIMENT_NAMES = ("bayes", "best-static", "oracle")

__all__ = ["EXPERIMENT_NAMES", "POLICY_NAMES", "Policy", "Proposal", "policy_class"]


def policy_class(name: str) -> type[Policy]:
    """The policy of this name, imported only now."""
    if name in EXPERIMENT_NAMES:
        raise UsageError(
            f"policy {name!r} exists only in experiments: see penstock simulate run and evaluate"
        )
    if name not in _HOMES:
        raise UsageError(f"unknown policy {name!r}{did_you_mean(name, POLICY_NAMES)}")
    module = import_module(f"penstock.decide.policies.{_HOMES[name]}")
    found: type[Policy] = module.POLICIES[name] if hasattr(module, "POLICIES") else module.POLICY
    return found
