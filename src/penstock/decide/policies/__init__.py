"""The table of policies by name.

A policy is one small file that names it `POLICY`. The checks in `penstock.testing.policies` apply to all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    "dial": "dial",
    "greedy": "greedy",
    "epsilon-greedy": "epsilon_greedy",
    "weir": "weir",
}
POLICY_NAMES = tuple(_HOMES)
# These need the simulator or a library that agents do not have. They are defined in `penstock.evaluate`.
EXPERIMENT_NAMES = ("bayes", "best-static", "nudge", "oracle")
# Built in once. They answer questions about CARAT and are files in the source tree now.
MOVED_NAMES = (
    "carat-log2", "carat-veto", "carat-history", "carat-soft", "carat-full", "carat-budget", "carat-tuned",
    "cache-printed", "cache-fitted",
)  # fmt: skip

__all__ = [
    "EXPERIMENT_NAMES",
    "MOVED_NAMES",
    "POLICY_NAMES",
    "Policy",
    "Proposal",
    "policy_class",
    "unknown_policy",
]


def policy_class(name: str) -> type[Policy]:
    """The class of the policy with this name. Its module is imported on first use."""
    if name in EXPERIMENT_NAMES:
        raise UsageError(
            f"policy {name!r} exists only in experiments: see penstock simulate run and evaluate"
        )
    if name not in _HOMES:
        raise unknown_policy(name, POLICY_NAMES)
    found: type[Policy] = import_module(f"penstock.decide.policies.{_HOMES[name]}").POLICY
    return found


def unknown_policy(name: str, known: Sequence[str]) -> UsageError:
    """The error for a name that is not known, with the nearest one, or the file that a former policy is in now."""
    if name in MOVED_NAMES:
        file = f"benchmarks/ablations/{name.replace('-', '_')}.py"
        return UsageError(
            f"policy {name!r} is no longer built in: give the path of its file, {file} in the sources"
        )
    return UsageError(f"unknown policy {name!r}{did_you_mean(name, known)}")
