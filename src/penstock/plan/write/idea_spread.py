"""Intervals beyond the measured scales: what each idea of growth predicts, and how far it was off on held-out scales.

A stack answers with the growth that did best. Its errors say little where another idea did nearly as well and now
predicts something else, so the interval is taken over all ideas, each with its own errors and a share of the belief.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.plan.write.folds import LIMIT_POINTS, LIMIT_SHARE, Mask
from penstock.plan.write.stacked import MEMBERS, TREES, beliefs, fold_shares, growth_shares, judged_ideas

Floats = npt.NDArray[np.float64]
# So much of the belief is dealt out to all ideas alike: a scale that nobody saw may prove any of them right.
EQUAL_SHARE = 0.3
POINTS = 40
# Quantiles of this level held 85 % of held-out larger scales on average, and those of `LEVEL` 86 %
# (docs/explanation/write-time.md): what is said to hold 80 % may be so much narrower.
QUANTILE_LEVEL = 0.76


@dataclass(frozen=True, slots=True)
class Idea:
    """A rate that may stay constant: its share of the belief, its trees' weights, its errors for one doubling.

    `offsets` are evenly spaced quantiles of the logarithm of true over predicted seconds.
    """

    rate: str
    share: float
    weights: tuple[float, ...]
    offsets: tuple[float, ...]

    def said(self, members: Floats) -> Floats:
        """Logarithms of seconds by this idea, from those of all members."""
        places = [MEMBERS.index(f"{self.rate}/{learner}") for learner in TREES]
        return np.asarray(members[:, places] @ np.array(self.weights))


@dataclass(frozen=True, slots=True)
class IdeaSpread:
    """All ideas, and the share that such intervals held of folds that had no part in making them."""

    ideas: tuple[Idea, ...]
    measured: float | None = None

    def said(self, members: Floats) -> Floats:
        """Logarithms of seconds by the forecast itself, from those of all members."""
        belief = np.array([one.share for one in self.ideas]) - EQUAL_SHARE / len(self.ideas)
        shares = growth_shares([one.rate for one in self.ideas], np.maximum(belief, 0.0))
        return np.asarray(
            sum(share * one.said(members) for share, one in zip(shares, self.ideas, strict=True))
        )

    def ends(self, members: Floats, far: Floats) -> tuple[Floats, Floats]:
        """Both ends as logarithms of seconds; `far` is how many doublings beyond the scales each row lies.

        The upper end is made as if `LIMIT_SHARE` of all cases met a limit on the way that no smaller scale showed.
        """
        best = self.said(members)
        values = np.hstack(
            [one.said(members)[:, None] + far[:, None] * np.array(one.offsets) for one in self.ideas]
        )
        mass = np.concatenate([np.full(len(one.offsets), one.share / len(one.offsets)) for one in self.ideas])
        met = best[:, None] + far[:, None] * np.linspace(0, np.log(2), LIMIT_POINTS)
        limited = np.concatenate(
            [mass * (1 - LIMIT_SHARE), np.full(LIMIT_POINTS, LIMIT_SHARE / LIMIT_POINTS)]
        )
        low = np.array([weighed_quantile(row, mass, (1 - QUANTILE_LEVEL) / 2) for row in values])
        high = [weighed_quantile(row, limited, (1 + QUANTILE_LEVEL) / 2) for row in np.hstack([values, met])]
        return np.minimum(low, best), np.maximum(np.array(high), best)

    def holds(self, errors: Floats, far: Floats) -> Mask:
        """Which rows lie inside, from the members' errors on them."""
        low, high = self.ends(errors, far)
        return np.asarray((low <= 0) & (high >= 0))


def idea_spread(errors: Sequence[Floats], far: Sequence[Floats]) -> IdeaSpread | None:
    """From every member's errors on folds of larger scales; checked on each fold with what the others say."""
    filled = [(part, step) for part, step in zip(errors, far, strict=True) if len(part)]
    if not filled:
        return None
    found = IdeaSpread(_ideas(filled))
    if len(filled) < 2:
        return found
    held = [
        IdeaSpread(_ideas(filled[:number] + filled[number + 1 :])).holds(*fold)
        for number, fold in enumerate(filled)
    ]
    return IdeaSpread(found.ideas, float(np.mean(np.concatenate(held))))


def _ideas(folds: Sequence[tuple[Floats, Floats]]) -> tuple[Idea, ...]:
    errors = [part for part, _ in folds]
    steps, mass = np.concatenate([step for _, step in folds]), fold_shares(errors)
    judged = judged_ideas(errors)
    shares = (1 - EQUAL_SHARE) * beliefs(judged) + EQUAL_SHARE / len(judged)
    levels = (np.arange(POINTS) + 0.5) / POINTS
    found = []
    for one, share in zip(judged, shares, strict=True):
        offsets = weighed_quantile(-(np.vstack(errors)[:, one.places] @ one.weights) / steps, mass, levels)
        found.append(Idea(one.rate, float(share), tuple(one.weights.tolist()), tuple(offsets.tolist())))
    return tuple(found)


def weighed_quantile(values: Floats, mass: Floats, level: float | Floats) -> Floats:
    """Quantiles of values that count for unequal shares.

    >>> float(weighed_quantile(np.array([3.0, 1.0, 2.0]), np.ones(3), 0.5))
    2.0
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(mass[order]) - mass[order] / 2
    return np.asarray(np.interp(level, reached / mass.sum(), values[order]))
