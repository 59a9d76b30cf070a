"""How far beyond its measured scales a model may be asked: as far as its own held-out scales support.

A model that was fitted on 1 to 8 nodes was also fitted on 1 to 4 and asked about 8. That test says how many doublings
it bridges and how well. Where the test fails, or where there was none, there is no forecast. The same holds for what
is written: larger bursts and more bytes altogether than were measured are answered as far as held-out scales had
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.plan.write.folds import extrapolation_folds

Floats = npt.NDArray[np.float64]
# Most held-out samples of the largest scale must be met within this factor.
WITHIN_FACTOR = 2.0
ROUNDING = 1e-9
# Whoever measured 1 TB may ask about 1 TiB, and that is not beyond.
UNITS = float(np.log2(1.1))


@dataclass(frozen=True, slots=True)
class Support:
    """Forecasts are given up to so many doublings of the largest measured scale; `reason` says why no farther."""

    doublings: float = 0.0
    reason: str = "no larger scale was held out"

    def limit(self, largest: int) -> int:
        """The most nodes that may be asked about."""
        return int(largest * 2**self.doublings + ROUNDING)


@dataclass(frozen=True, slots=True)
class AmountReach:
    """The largest amount that was measured, and how many doublings beyond it held-out scales had."""

    largest: float
    doublings: float

    def far(self, amounts: Floats) -> Floats:
        """How many doublings amounts lie beyond the largest measured one; nothing within a unit's rounding."""
        steps = np.log2(amounts / self.largest)
        return np.asarray(np.where(steps > UNITS, steps, 0.0))

    def holds(self, amounts: Floats) -> npt.NDArray[np.bool_]:
        """Which amounts may be asked about."""
        return np.asarray(self.far(amounts) <= self.doublings + ROUNDING)

    @property
    def limit(self) -> float:
        """The largest amount that may be asked about."""
        return float(self.largest * 2 ** max(self.doublings, UNITS))


def reach_of(amounts: Floats, nodes: Floats, support: Support) -> AmountReach:
    """How far bursts or total bytes may go, if larger scales were held out and met.

    >>> reach_of(np.repeat([1.0, 4.0], 8), np.repeat([1.0, 2.0], 8), Support(1.0, ""))
    AmountReach(largest=4.0, doublings=2.0)
    """
    steps = [0.0]
    if support.doublings > 0:
        folds = extrapolation_folds(nodes)
        steps += [float(np.log2(amounts[fold.test].max() / amounts[fold.train].max())) for fold in folds]
    return AmountReach(float(amounts.max()), max(steps))


#: A model whose fit held nothing out.
UNTESTED = Support()


def support_of(errors: Sequence[Floats], far: Sequence[Floats], scales: Sequence[int]) -> Support:
    """From the errors on held-out larger scales, fold by fold; `far` says how many doublings each lay beyond.

    >>> support_of([np.array([0.1, 0.2])], [np.array([1.0, 1.0])], [4, 8])
    Support(doublings=1.0, reason='no more than 1 doubling of the nodes was held out')
    """
    largest = max(scales)
    tested = [(part, step) for part, step in zip(errors, far, strict=True) if part.size]
    if not tested:
        return Support(0.0, f"nothing larger than {largest} nodes was held out")
    last, _ = tested[-1]
    off = float(np.exp(np.median(np.abs(last))))
    if off > WITHIN_FACTOR:
        return Support(0.0, f"held-out runs on {largest} nodes were missed by a factor of {off:.1f}")
    most = float(max(step.max() for _, step in tested))
    noun = "doubling" if most == 1 else "doublings"
    return Support(most, f"no more than {most:.3g} {noun} of the nodes was held out")
