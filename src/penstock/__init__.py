"""Penstock: shared HPC storage made fast, from before a job runs until it ends.

What `__all__` lists is the public Python API: a simulated cluster to experiment with, and what a policy of one's
own is made of. Each name is loaded when first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Cluster": "penstock.evaluate.gym",
    "Policy": "penstock.decide.policies",
    "Proposal": "penstock.decide.policies",
    "Setting": "penstock.knobs",
    "KnobSpace": "penstock.knobs",
    "Window": "penstock.window",
    "Outlook": "penstock.decision",
    "PenstockError": "penstock.errors",
}
__all__ = ("__version__", *_HOMES)  # noqa: PLE0604 - a type checker reads the stub beside this file


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
