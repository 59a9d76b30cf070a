"""Active and inactive stages of a target, as CARAT defines them.

A target is active while it moves bytes. It becomes inactive after one second without any.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.window import Window

INACTIVE_AFTER_S = 1.0


@dataclass(slots=True)
class Activity:
    """The stage of one target. It starts inactive, so the first busy window begins an active stage."""

    active: bool = False
    last_busy_s: float = float("-inf")

    def update(self, window: Window) -> bool:
        """Update the stage from one window. Returns true if this window begins an active stage."""
        if window.moved_per_s > 0:
            resumed = not self.active
            self.active, self.last_busy_s = True, window.t1_s
            return resumed
        if window.t1_s - self.last_busy_s > INACTIVE_AFTER_S:
            self.active = False
        return False
