"""Bytes that many ask for and that cost time to make: made rarely, and served as they are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

# Of all time, what making them may take. The loop shares its interpreter with whoever makes them.
SHARE = 0.1


class Rendered:
    """The same bytes for everybody, made anew at most once a period, and for at most a tenth of the time.

    While one caller makes them, the others get the ones before. It may be used from any thread.
    """

    def __init__(
        self, make: Callable[[], bytes], period_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._make, self._period_s, self._clock = make, period_s, clock
        self._lock = threading.Lock()
        self._last: bytes | None = None
        self._due_s = float("-inf")

    def __call__(self) -> bytes:
        """The bytes, at most a period old unless making them takes long."""
        last = self._last
        if last is not None and self._clock() < self._due_s:
            return last
        if not self._lock.acquire(blocking=last is None):
            return last if last is not None else b""
        try:
            if self._last is None or self._clock() >= self._due_s:
                began_s = self._clock()
                self._last = self._make()
                took_s = self._clock() - began_s
                self._due_s = began_s + max(self._period_s, took_s / SHARE)
            return self._last
        finally:
            self._lock.release()

    def outdated(self) -> None:
        """Make them anew for the next who asks: something was changed on request."""
        self._due_s = float("-inf")
