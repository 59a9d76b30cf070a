"""Penstock: shared HPC storage made fast, from before a job runs until it ends."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`penstock.Cluster`, the simulated cluster to experiment with, loaded when first asked for."""
    if name == "Cluster":
        from importlib import import_module

        return import_module("penstock.evaluate.gym").Cluster
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")
