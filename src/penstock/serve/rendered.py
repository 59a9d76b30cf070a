"""Bytes that many ask for and that cost time to make: made rarely, and served as they are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

# Of all time, what making them may take. The loop shares its interpreter with whoever makes them.
SHARE = 0.1
# They are made anew after so long at the latest, whatever making them cost.
OLDEST_S = 5.0


@dataclass(frozen=True, slots=True)
class _Made:
    content: bytes
    generation: int
    due_s: float


class Rendered:
    """The same bytes for everybody, made anew at most once a period, and for at most a tenth of the time of a core.

    They are never older than five seconds or a period, whichever is longer.

    While one caller makes them, the others get the ones before. After `outdated` nobody gets bytes whose making began
    before it. It may be used from any thread.
    """

    def __init__(
        self,
        make: Callable[[], bytes],
        period_s: float,
        clock: Callable[[], float] = time.monotonic,
        work: Callable[[], float] = time.thread_time,
    ) -> None:
        self._make, self._period_s, self._clock, self._work = make, period_s, clock, work
        self._lock, self._counting = threading.Lock(), threading.Lock()
        #: Raised by `outdated`. Bytes of an earlier generation are not served.
        self._generation = 0
        self._last: _Made | None = None

    def __call__(self) -> bytes:
        """The bytes, at most a period old unless making them takes long."""
        last = self._valid()
        if last is not None and self._clock() < last.due_s:
            return last.content
        if not self._lock.acquire(blocking=last is None):
            assert last is not None
            return last.content
        try:
            last = self._valid()
            if last is None or self._clock() >= last.due_s:
                last = self._last = self._anew()
            return last.content
        finally:
            self._lock.release()

    def outdated(self) -> None:
        """Make them anew for the next who asks: something was changed on request."""
        with self._counting:
            self._generation += 1

    def _valid(self) -> _Made | None:
        last = self._last
        return last if last is not None and last.generation == self._generation else None

    def _anew(self) -> _Made:
        generation, began_s, worked_s = self._generation, self._clock(), self._work()
        content = self._make()
        # A thread that waits for others, or for a busy machine, costs nobody anything.
        rest_s = min((self._work() - worked_s) / SHARE, OLDEST_S)
        return _Made(content, generation, began_s + max(self._period_s, rest_s))
