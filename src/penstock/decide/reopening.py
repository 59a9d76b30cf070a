"""Tells when a knob that acts on new opens is felt, though nobody counts opens.

Until applications open their files anew, the rate stays what it was before the change. So the change is felt once the
rate leaves that by more than it wanders by itself. A change that brings nothing never shows: it is waited for as long
as files may stay open, which loses nothing, because nothing changed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.decide.habits import LONGEST_OPEN_S, ODD_NOISES, ODD_WINDOWS, OPEN_S, REOPENED_LOG2
from penstock.decide.level import Level
from penstock.decide.objective import Rates
from penstock.decide.work import unfelt_windows
from penstock.knobs import KnobSpace, Setting


@dataclass(slots=True)
class Reopening:
    """One change of a knob that acts on new opens, from the moment it was made."""

    #: How many windows files usually stay open for.
    windows: int = 0
    _usual: float = 0.0
    _slack_log2: float = 0.0
    #: Windows in a row above what the rate was, or below it if negative.
    _odd: int = 0

    @property
    def awaited(self) -> bool:
        """Whether the rate is watched for files that are opened anew: a single window tells nothing meanwhile."""
        return self._usual > 0

    def begin(self, space: KnobSpace, change: tuple[Setting, Setting], window_s: float, was: Level) -> int:
        """A change from one setting to another; answers for how many windows at most it may not be felt.

        `was` is what the first setting brought. Where that is not known nothing can be told from the rate.
        """
        self.windows, self._odd = math.ceil(OPEN_S / window_s), 0
        usual = unfelt_windows(space, *change, window_s)
        known = was.count >= ODD_WINDOWS and usual > 0
        self._usual = was.mean.total if known else 0.0
        self._slack_log2 = max(REOPENED_LOG2, ODD_NOISES * math.log2(1.0 + was.noise))
        return math.ceil(LONGEST_OPEN_S / window_s) if known else usual

    def felt(self, rates: Rates) -> bool:
        """Take in a window; whether files were opened anew, as far as the rate tells."""
        if not self.awaited:
            return False
        off_log2 = math.log2(max(rates.total, 1.0) / self._usual)
        if abs(off_log2) < self._slack_log2:
            self._odd = 0
        elif off_log2 > 0:
            self._odd = max(self._odd, 0) + 1
        else:
            self._odd = min(self._odd, 0) - 1
        return abs(self._odd) >= ODD_WINDOWS
