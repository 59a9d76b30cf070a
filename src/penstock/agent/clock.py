"""Real time for the loop: monotonic, and interruptible by a stop."""

from __future__ import annotations

import threading
import time


class MonotonicClock:
    """The kernel's monotonic clock; a stop wakes whoever sleeps."""

    def __init__(self) -> None:
        self.stopping = threading.Event()

    def now(self) -> float:
        """Seconds since an arbitrary origin; never runs backwards."""
        return time.monotonic()

    def sleep_until(self, t_s: float) -> None:
        """Return at `t_s`, or at once when stopping."""
        left_s = t_s - time.monotonic()
        if left_s > 0:
            self.stopping.wait(left_s)
