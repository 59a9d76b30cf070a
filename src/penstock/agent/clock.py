"""Real time for the loop: monotonic, and interruptible by a stop."""

from __future__ import annotations

import contextlib
import os
import select
import time
import weakref


class MonotonicClock:
    """The kernel's monotonic clock; a stop wakes whoever sleeps.

    `stop` may be called by a signal handler at any instant, so it takes no lock: a handler would wait for ever for
    one that the code it interrupted holds. A byte in a pipe wakes the sleeper instead.
    """

    def __init__(self) -> None:
        self.stopping = False
        self._hears, self._tells = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        weakref.finalize(self, _close, self._hears, self._tells)

    def now(self) -> float:
        """Seconds since an arbitrary origin; never runs backwards."""
        return time.monotonic()

    def stop(self) -> None:
        """From now on nobody sleeps."""
        self.stopping = True
        with contextlib.suppress(BlockingIOError):
            os.write(self._tells, b".")

    def sleep_until(self, t_s: float) -> None:
        """Return at `t_s`, or at once when stopping."""
        left_s = t_s - time.monotonic()
        if left_s > 0:
            select.select([self._hears], [], [], left_s)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
