"""Which rule keeps the best candidate of a unit from being tried in an interval.

A unit is held back if

- the policy says that a rule refused the candidate whose trial is worth most, whether or not it tries another one;
- a rule of the guard refused what the policy wanted;
- a rule of the policy or of the tuner leaves the work alone whatever a candidate promises.

Waiting for a measurement does not count, nor does a look at the original.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.decision import Decision, HeldBack
from penstock.decision_reasons import Reason

HOLDING_BACK = frozenset(
    {
        Reason.GUARD_BLACKLIST, Reason.GUARD_BREAKER, Reason.GUARD_BUDGET, Reason.GUARD_CACHE, Reason.GUARD_CACHED,
        Reason.GUARD_DRAIN, Reason.GUARD_DWELL, Reason.GUARD_FINITE, Reason.GUARD_JITTER, Reason.GUARD_LOSS,
        Reason.GUARD_MEMORY, Reason.GUARD_REACH, Reason.GUARD_REFERENCE, Reason.GUARD_TURN, Reason.GUARD_VAIN,
        Reason.CACHED, Reason.OUT_OF_BOUNDS, Reason.OUT_OF_RANGE, Reason.SPARSE,
    }
)  # fmt: skip


def holding_back(decision: Decision) -> HeldBack | None:
    """The rule behind one decision, and its sentence; None if no rule kept anything from being tried."""
    if decision.held_back is not None:
        return decision.held_back
    if decision.changes or decision.reason not in HOLDING_BACK:
        return None
    return HeldBack(str(decision.reason), decision.sentence)


def rules_of(decisions: Iterable[Decision]) -> Iterator[str]:
    """The rule of every unit that was held back, from the decisions of one client in one interval.

    A unit is a tuning group, or a target if the policy tunes them one by one.
    """
    units: dict[str, str] = {}
    for decision in decisions:
        found = holding_back(decision)
        if found is not None:
            units.setdefault(decision.unit, found.rule)
    yield from units.values()
