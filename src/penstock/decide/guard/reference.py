"""What the original setting brings for one kind of work: the measure of every change."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from penstock.decide.habits import MEAN_WINDOWS, WAVES
from penstock.decide.level import Level
from penstock.decide.objective import Rates


@dataclass(slots=True)
class Reference:
    """The original's level, and the level of the look at it that is under way."""

    level: Level = field(default_factory=Level)
    fresh: Level | None = None
    #: The latest windows; kept only where they are asked for, because nodes have thousands of targets.
    recent: list[Rates] = field(default_factory=list)

    def take(self, rates: Rates) -> None:
        """A settled window at the original."""
        if self.fresh is not None:
            self.fresh.take(rates)
        else:
            self.level.take(rates)

    def keep(self, rates: Rates) -> None:
        """Keep a window as it was, besides the mean over all of them."""
        self.recent = [*self.recent[1 - MEAN_WINDOWS :], rates]

    def begin_anew(self) -> None:
        """Measure anew: what was known before is compared with it, not mixed into it."""
        self.fresh = Level()

    def end_anew(self) -> bool:
        """Believe the new level; where it agrees with the old one both count. Returns whether it is another world.

        A look that saw nothing done says nothing: applications waited for what was written before it.
        """
        fresh, self.fresh = self.fresh, None
        if fresh is None or fresh.mean.total <= 0:
            return False
        if self.level.count == 0 or self._moved(fresh):
            self.level = fresh
            return True
        for _ in range(fresh.count):
            self.level.take(fresh.mean)
        return False

    def _moved(self, fresh: Level) -> bool:
        """Whether the world is another one now."""
        if self.level.mean.total <= 0:
            return True
        apart = abs(math.log(fresh.mean.total / self.level.mean.total))
        noise = max(self.level.noise, fresh.noise)
        return apart > max(0.05, 2.0 * WAVES * noise / math.sqrt(fresh.count))
