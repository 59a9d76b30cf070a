"""A request to stop (SIGTERM, SIGINT) from the first line of the program on; needs nothing but signals.

While a process has changed nothing it may simply end. What must not be cut short is wrapped in `finishing`, and
whoever can stop by itself later says how with `hand_over`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopRequest:
    """What a stop signal does right now."""

    def __init__(self) -> None:
        #: Whether a stop was asked for while something had to be finished first.
        self.asked = False
        self._act: Callable[[], object] = self._leave

    def install(self) -> None:
        for number in SIGNALS:
            signal.signal(number, self._handle)

    def hand_over(self, act: Callable[[], object]) -> None:
        """From now on somebody else ends the process in order; told at once of what was asked before."""
        self._act = act
        if self.asked:
            act()

    @contextmanager
    def finishing(self) -> Iterator[None]:
        """Let this finish; a stop that was asked for meanwhile happens right after it."""
        before, self._act = self._act, self._remember
        try:
            yield
        finally:
            self._act = before
            if self.asked:
                before()

    def _handle(self, number: int, frame: object) -> None:
        self._act()

    def _remember(self) -> None:
        self.asked = True

    def _leave(self) -> None:
        # No clean-up: nothing was changed, and imports that are half done must not see an exception.
        os._exit(0)


#: A process has one set of signal handlers, so there is one of these.
STOP = StopRequest()
