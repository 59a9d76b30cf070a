"""Real time for the loop: a monotonic clock whose sleep can be interrupted."""

from __future__ import annotations

import contextlib
import os
import select
import time
import weakref


class MonotonicClock:
    """The kernel's monotonic clock. `stop` wakes a sleeper.

    A signal handler may call `stop` at any time, so it takes no lock: the interrupted code might hold that lock, and
    the handler would wait forever. A byte in a pipe wakes the sleeper instead.
    """

    def __init__(self) -> None:
        self.stopping = False
        self._hears, self._tells = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        weakref.finalize(self, _close, self._hears, self._tells)

    def now(self) -> float:
        """Seconds since an arbitrary origin; never runs backwards."""
        return time.monotonic()

    def stop(self) -> None:
        """Make every present and future sleep return at once."""
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
