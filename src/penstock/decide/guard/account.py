"""What changes cost a target: an account over all kinds of its work, with a clock that runs only while it works."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from penstock.decide.guard.limits import LONG_S, SHORT_S, GuardLimits


@dataclass(slots=True)
class Account:
    """Losses of the last ten minutes of work, in seconds of the original's work. A refund is a loss below zero."""

    worked_s: float = 0.0
    losses: deque[tuple[float, float]] = field(default_factory=deque)

    def work(self, seconds: float) -> None:
        """So much more work was done; what is older than ten minutes no longer counts."""
        self.worked_s += seconds
        while self.losses and self.losses[0][0] < self.worked_s - LONG_S:
            self.losses.popleft()

    def charge(self, lost_s: float) -> None:
        """Changes cost so much just now."""
        if lost_s:
            self.losses.append((self.worked_s, lost_s))

    def lost_s(self, within_s: float = LONG_S) -> float:
        """What changes cost within the last seconds of work."""
        since_s = self.worked_s - within_s
        return max(0.0, sum(lost for at_s, lost in list(self.losses) if at_s > since_s))

    def room_s(self, limits: GuardLimits) -> float:
        """What the next change may cost."""
        long_s = limits.price * LONG_S - self.lost_s()
        return min(long_s, limits.minute_loss_s - self.lost_s(SHORT_S))
