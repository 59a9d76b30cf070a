"""A log for the system journal that cannot flood it: one line per change or event, one line per condition.

A lasting condition is logged once and then counted; every hour it is logged again with its count. Lines about changes
have an hourly budget. Lines beyond it are only counted; the decision log has them all.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

HOUR_S = 3600.0
CHANGES_PER_HOUR = 120
EVENTS_PER_HOUR = 60
MOST_CONDITIONS = 500
MOST_REMINDERS = 5
# A condition that did not occur for this long is over.
OVER_AFTER_S = 600.0
_NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.-]*\w)")


@dataclass(slots=True)
class _Condition:
    sentence: str
    last_s: float
    lasting: bool
    repeats: int = 0


class RateLimitedLog:
    """Wraps a logger. At level DEBUG the repetitions are logged too."""

    def __init__(
        self,
        log: logging.Logger,
        clock: Callable[[], float] = time.monotonic,
        changes_per_hour: int = CHANGES_PER_HOUR,
    ) -> None:
        self._log, self._clock = log, clock
        self._budget = self._left = changes_per_hour
        self._events_left = EVENTS_PER_HOUR
        self._hour_ends_s = clock() + HOUR_S
        self._conditions: dict[str, _Condition] = {}

    def change(self, sentence: str) -> None:
        """Log one change, while this hour's budget lasts."""
        self._left -= 1
        if self._left >= 0:
            self._log.info("%s", sentence)
        else:
            self._log.debug("%s", sentence)
            if self._left == -1:
                self._log.info("%d changes in this hour; the others are only in the log", self._budget)

    def event(self, sentence: str) -> None:
        """Log one event of the node, while this hour's budget lasts."""
        self._events_left -= 1
        if self._events_left >= 0:
            self._log.warning("%s", sentence)
        else:
            self._log.debug("%s", sentence)
            if self._events_left == -1:
                self._log.warning("%d events in this hour; the others are only in the log", EVENTS_PER_HOUR)

    def over(self, sentence: str) -> None:
        """End a condition. If it occurs again, it is logged again."""
        self._conditions.pop(_NUMBER.sub("#", sentence), None)

    def condition(self, sentence: str, *, lasting: bool = False) -> None:
        """Log a condition that may occur in every tick.

        Different numbers in the text do not make it a new condition.
        """
        key = _NUMBER.sub("#", sentence)
        now_s, known = self._clock(), self._conditions.get(key)
        if known is not None:
            known.repeats += 1
            known.last_s, known.sentence = now_s, sentence
            self._log.debug("again: %s", sentence)
        elif len(self._conditions) < MOST_CONDITIONS:
            self._conditions[key] = _Condition(sentence, now_s, lasting)
            self._log.warning("%s", sentence)

    def standing(self) -> list[str]:
        """The present conditions, for status and metrics. It may be called from any thread."""
        now_s = self._clock()
        return sorted(
            known.sentence
            for known in list(self._conditions.values())
            if known.lasting or now_s - known.last_s < OVER_AFTER_S
        )

    def settle(self) -> None:
        """Once an hour: log present conditions with their counts, forget those that are over, and reset the
        budget.
        """
        now_s = self._clock()
        if now_s < self._hour_ends_s:
            return
        self._hour_ends_s = now_s + HOUR_S
        if self._left < 0:
            self._log.info("%d changes in the last hour were not printed", -self._left)
        self._left, self._events_left = self._budget, EVENTS_PER_HOUR
        over = [
            key
            for key, known in self._conditions.items()
            if not known.lasting and now_s - known.last_s >= OVER_AFTER_S
        ]
        for key in over:
            del self._conditions[key]
        self._remind([known for known in self._conditions.values() if known.repeats])

    def _remind(self, repeated: list[_Condition]) -> None:
        repeated.sort(key=lambda known: -known.repeats)
        for known in repeated[:MOST_REMINDERS]:
            self._log.warning("%s (%d times in the last hour)", known.sentence, known.repeats)
        if len(repeated) > MOST_REMINDERS:
            self._log.warning("%d more conditions stand", len(repeated) - MOST_REMINDERS)
        for known in repeated:
            known.repeats = 0
