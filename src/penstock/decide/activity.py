"""Stages: a target is active while requests flow and inactive after a second without any."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.window import Window

INACTIVE_AFTER_S = 1.0


@dataclass(slots=True)
class Activity:
    """The stage of one target, from its windows. It starts inactive: the first request resumes it."""

    active: bool = False
    last_busy_s: float = float("-inf")

    def update(self, window: Window) -> bool:
        """Take in a window; true when it is the first busy one after an inactive stage."""
        if window.bytes_per_s > 0:
            resumed = not self.active
            self.active, self.last_busy_s = True, window.t1_s
            return resumed
        if window.t1_s - self.last_busy_s > INACTIVE_AFTER_S:
            self.active = False
        return False
