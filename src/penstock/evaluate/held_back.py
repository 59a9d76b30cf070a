"""Rules that keep something from being tried, counted in windows.

In an interval every tuning group is one window, or every target if the policy tunes them one by one. It is held back
if its decision changes nothing for one of these reasons:

- a rule of the guard refused what the policy wanted most;
- a rule of the policy or of the tuner leaves the work alone whatever a candidate promises.

Waiting for a measurement does not count, nor does a look at the original.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.decision import Decision
from penstock.decision_reasons import Reason

HOLDING_BACK = frozenset(
    {
        Reason.GUARD_BLACKLIST, Reason.GUARD_BREAKER, Reason.GUARD_BUDGET, Reason.GUARD_CACHE, Reason.GUARD_CACHED,
        Reason.GUARD_CERTAINTY, Reason.GUARD_DWELL, Reason.GUARD_FINITE, Reason.GUARD_HOLD, Reason.GUARD_JITTER,
        Reason.GUARD_LOSS, Reason.GUARD_MEMORY, Reason.GUARD_REACH, Reason.GUARD_REFERENCE, Reason.GUARD_TURN,
        Reason.CACHED, Reason.OUT_OF_BOUNDS, Reason.OUT_OF_RANGE, Reason.SPARSE,
    }
)  # fmt: skip


def rules_of(decisions: Iterable[Decision]) -> Iterator[str]:
    """The rule of every unit that was held back, from the decisions of one client in one interval."""
    units: dict[str, str] = {}
    for decision in decisions:
        if not decision.changes and decision.reason in HOLDING_BACK:
            units.setdefault(decision.unit, str(decision.reason))
    yield from units.values()
