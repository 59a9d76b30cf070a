"""The end of the agent: every step is taken, whatever became of the others."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)

# Restoring thousands of targets takes seconds; service managers wait for much longer.
PATIENCE_S = 5.0


def take_every(*steps: Callable[[], object]) -> None:
    """Take all steps in this order. One that fails is logged."""
    for step in steps:
        try:
            step()
        except Exception:
            log.exception("a step of stopping failed; the others go on")


def holding(mutex: threading.Lock, step: Callable[[], object]) -> Callable[[], None]:
    """A step that lets a command that runs now finish first, but does not wait for it for long."""

    def take() -> None:
        held = mutex.acquire(timeout=PATIENCE_S)
        try:
            step()
        finally:
            if held:
                mutex.release()

    return take
