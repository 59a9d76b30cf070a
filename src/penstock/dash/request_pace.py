"""Limits how often something may be asked for, whoever asks."""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.errors import PenstockError


class TooOftenError(PenstockError):
    """Somebody asks faster than a person at a page would."""


class RequestPace:
    """Lets `burst` pass at once and `per_s` a second after that."""

    def __init__(self, per_s: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._burst, self._clock = per_s, burst, clock
        self._left, self._last_s = float(burst), clock()

    def take(self) -> None:
        """Count one. Raises `TooOftenError` if there were too many."""
        now_s = self._clock()
        self._left = min(self._burst, self._left + (now_s - self._last_s) * self._per_s)
        self._last_s = now_s
        if self._left < 1.0:
            raise TooOftenError("too many requests: ask again in a second")
        self._left -= 1.0
