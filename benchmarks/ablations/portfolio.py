"""Not `weir` at all, but its rival: tries six far-apart settings and keeps the best. No model and no guard.

Each setting is measured for 1.5 s. Then the neighbours of the best are tried, as long as one of them is better. Every
30 s the original is looked at again.
"""

from __future__ import annotations

import statistics
from random import Random

from penstock.decide.objective import rates_of
from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.knobs import KnobSpace, Setting
from penstock.window import Window

TRIAL_WINDOWS, LOOK_WINDOWS = 3, 60
# What another setting must bring of the best so far, so that chance alone moves nothing.
LEAST_GAIN = 1.05
#: Pages and requests in flight, by whether reads and writes count.
PORTFOLIO = {
    (True, False): ((1024, 32), (256, 64), (64, 256), (16, 64), (256, 4), (1024, 1)),
    (False, True): ((1024, 1), (256, 1), (64, 1), (1024, 64), (256, 32), (64, 8)),
    (True, True): ((1024, 1), (256, 2), (64, 1), (1024, 32), (256, 16), (64, 64)),
}


class PortfolioPolicy(Policy):
    """Tries what the portfolio has for the kind of work, then neighbours, and holds the best."""

    name = "portfolio"
    in_groups = True

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng)
        self._known: dict[Setting, float] = {}
        self._queue: list[Setting] = []
        self._place: Setting | None = None
        self._best: Setting | None = None
        #: The throughput of the windows since the last change; that of the change itself is left out.
        self._rates: list[float] = []
        self._windows = 0

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Measure what is in force, then go to the next setting to try, or to the best."""
        place, home = (each.only(*self.space.searched) for each in (window.setting, window.home))
        if place != self._place:
            self._place, self._rates, self._windows = place, [], 0
        self._windows += 1
        if self._windows > 1:
            self._rates.append(rates_of(window).total)
        if self._windows < TRIAL_WINDOWS:
            return Proposal(window.setting, "measuring", f"measuring {place}", decided=False)
        self._known[place] = statistics.fmean(self._rates[-LOOK_WINDOWS:])
        if self._best is None:
            self._best = home
            pairs = PORTFOLIO.get(rates_of(window).counts, PORTFOLIO[True, True])
            self._queue = [self.space.clipped(Setting(pages=pages, flight=flight)) for pages, flight in pairs]
        goal = self._next(place, home)
        return Proposal(window.setting.replace(goal), "portfolio", f"going to {goal}")

    def _next(self, place: Setting, home: Setting) -> Setting:
        """The next setting to try; without any, the best one, or the original if that was not seen for long."""
        self._queue = [each for each in self._queue if each not in self._known]
        if self._queue:
            return self._queue.pop(0)
        best = self._best = max(self._known, key=self._worth)
        near = self.space.neighbours(best, *self.space.searched) if best != home else ()
        self._queue = [each for each in near if each not in self._known]
        if self._queue:
            return self._queue.pop(0)
        looks = best == place != home and self._windows >= LOOK_WINDOWS
        return home if looks else best

    def _worth(self, setting: Setting) -> float:
        return self._known[setting] * (LEAST_GAIN if setting == self._best else 1.0)


POLICY = PortfolioPolicy
