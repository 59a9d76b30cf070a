"""Rules that keep the best candidate from being tried, counted in windows (`penstock.decide.holding_back`).

In an interval every tuning group is one window, or every target if the policy tunes them one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.decide.holding_back import holding_back
from penstock.decision import Decision


def rules_of(decisions: Iterable[Decision]) -> Iterator[str]:
    """The rule of every unit that was held back, from the decisions of one client in one interval."""
    units: dict[str, str] = {}
    for decision in decisions:
        found = holding_back(decision)
        if found is not None:
            units.setdefault(decision.unit, found.rule)
    yield from units.values()
