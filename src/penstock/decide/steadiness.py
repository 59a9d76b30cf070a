"""What the shipped policy counts: whether there is enough work to judge a setting by, and rounds of trials."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.decide.habits import (
    KEEP_LOG2,
    LEAST_REQUESTS,
    MOST_REST_WINDOWS,
    REQUESTS_WINDOWS,
    REST_WINDOWS,
)
from penstock.decide.work import requests_of
from penstock.window import Window


@dataclass(slots=True)
class RequestCount:
    """Requests of all members in a window, on average over the last ones; none before one that counts them."""

    mean: float | None = None

    def take(self, window: Window, members: int) -> None:
        """Add a window, whose counts are means over members; one in which requests are not counted says nothing."""
        counted = requests_of(window)
        if counted is not None:
            requests = members * counted
            before = requests if self.mean is None else self.mean
            self.mean = before + (requests - before) / REQUESTS_WINDOWS

    @property
    def few(self) -> bool:
        """Whether chance decides what a window shows."""
        return self.mean is not None and self.mean < LEAST_REQUESTS


@dataclass(slots=True)
class Rounds:
    """Rounds of trials: how many this one has had, what the last one found, and how long to rest after it."""

    trials: int = 0
    over: float = 0.0
    rest: int = REST_WINDOWS

    def end(self, over: float) -> int:
        """Windows to rest now: more after a round of trials that found nothing better than the one before."""
        if self.trials:
            better = over > self.over + KEEP_LOG2
            self.rest = REST_WINDOWS if better else min(2 * self.rest, MOST_REST_WINDOWS)
            self.trials, self.over = 0, over
        return self.rest
