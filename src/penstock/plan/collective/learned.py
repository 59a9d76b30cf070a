"""Corrects promised gains by what earlier promises turned out to be worth.

A promise is about the write alone; a comparison times the user's whole command, with whatever else the machine does.
So only a share of the promised gain is kept, in logarithms: a share of 0.5 makes 1.44 times as fast 1.2 times. Before
any comparison the share is 1. Uncorrected promises are what is remembered and learnt from: corrected ones would be
kept, and the share would drift back to 1.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.plan.collective.remembered import PastComparison

# How far a share may lie from 1 before the first comparison, and the scatter of one pair's ratio, both as standard
# deviations: a promise is rarely kept to the letter, and pairs of a busy machine differ by a fifth.
BEFORE = 0.5
PAIR_SCATTER = 0.2
# A comparison of many pairs still has conditions of its own.
LEAST_SCATTER = 0.05
LEAST_SHARE, MOST_SHARE = -1.0, 1.5
# Promises of less say nothing of how well promises are kept.
LEAST_PROMISE = 1.02


@dataclass(frozen=True, slots=True)
class PromiseRecord:
    """What became of promises: comparisons, their verdicts, the middle gains, and the share that was kept."""

    comparisons: int
    faster: int
    slower: int
    promised: float | None
    measured: float | None
    share: float

    def corrected(self, gain: float) -> float:
        """A promised gain as it can be expected to turn out.

        >>> PromiseRecord(3, 1, 0, 1.4, 1.2, 0.5).corrected(1.44)
        1.2
        """
        return float(round(gain**self.share, 12))

    def text(self) -> str:
        """The record as one sentence."""
        if not self.comparisons or self.promised is None or self.measured is None:
            return "no comparison corrects promises yet: it takes five pairs of long runs with advised hints at work"
        return (
            f"{self.comparisons} comparisons of advice: it helped in {self.faster} and hurt in {self.slower}; "
            f"promised {self.promised:.2f} times as fast in the middle, measured {self.measured:.2f}; "
            f"promises now count {self.share:.0%}"
        )


def promise_record(entries: Sequence[PastComparison]) -> PromiseRecord:
    """The record of all comparisons of advice that can be relied on.

    Hints that nobody promised anything of are left out. Those that made no measurable difference are not: leaving
    them out would keep every promise that comes to nothing.

    The share is the mean of what the comparisons say and of 1 beforehand, weighed by their certainty: a promise of
    twice the gain tells more about the share, and so do more pairs.
    """
    kept = [
        (one, one.promised)
        for one in entries
        if one.trusted and one.promised is not None and one.promised >= LEAST_PROMISE
    ]
    weight, total = 1 / BEFORE**2, 1 / BEFORE**2
    for one, promised in kept:
        scatter = max(LEAST_SCATTER, PAIR_SCATTER / math.sqrt(one.pairs))
        weight += (math.log(promised) / scatter) ** 2
        total += math.log(promised) * math.log(one.gain) / scatter**2
    return PromiseRecord(
        len(kept),
        sum(one.verdict == "faster" for one, _ in kept),
        sum(one.verdict == "slower" for one, _ in kept),
        statistics.median(promised for _, promised in kept) if kept else None,
        statistics.median(one.gain for one, _ in kept) if kept else None,
        min(MOST_SHARE, max(LEAST_SHARE, total / weight)),
    )
