"""The node's limits that the guard needs: free memory, and the budget for dirty data."""

from __future__ import annotations

from pathlib import Path

from penstock.decide.guard import NodeView
from penstock.observe.meminfo import dirty_budget_mib, memory


def node_view(root: Path, cache_ratio: float) -> NodeView:
    """The node now."""
    total, available = memory(root)
    left = available / total if available is not None else None
    return NodeView(dirty_budget_mib(root, cache_ratio), left)
