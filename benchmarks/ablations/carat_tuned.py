"""CARAT with the improvements that did best together: logarithms, our own model, the veto, and the node's budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.agent.plugins import find_policy

Log2: Any = find_policy(str(Path(__file__).with_name("carat_log2.py")))


class TunedPolicy(Log2):  # type: ignore[misc]
    """The best combination of the variants beside this file."""

    name = "carat-tuned"
    model_kind = "forest"
    cache_rule = find_policy(str(Path(__file__).with_name("cache_fitted.py"))).cache_rule
    vetoes = True


POLICY = TunedPolicy
