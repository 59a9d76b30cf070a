"""What the shipped policy watches at every window: whether the world is still the same, and whether there is enough
work to judge a setting by.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from penstock.decide.habits import Habits
from penstock.decide.level import Level
from penstock.decide.objective import Rates
from penstock.decide.work import requests_of
from penstock.window import Window


@dataclass(slots=True)
class Drift:
    """The last windows at the setting in force, to be compared with all that was seen there before."""

    habits: Habits
    latest: deque[Rates] = field(init=False)

    def __post_init__(self) -> None:
        self.latest = deque(maxlen=self.habits.drift_windows)

    def left(self, before: Level) -> bool:
        """Whether the last windows are clearly not what this setting brought before."""
        windows = self.habits.drift_windows
        if before.count < 2 * windows or len(self.latest) < windows:
            return False
        now = sum(rates.total for rates in self.latest) / len(self.latest)
        apart = abs(math.log2(max(now, 1.0) / max(before.mean.total, 1.0)))
        return apart > max(self.habits.drift_log2, 4.0 * before.noise / math.sqrt(windows))

    def level(self) -> Level:
        """What the last windows alone say."""
        level = Level()
        for rates in self.latest:
            level.take(rates)
        return level


@dataclass(slots=True)
class RequestCount:
    """Requests in a window, on average over the last ones; none before the first window that counts them."""

    habits: Habits
    mean: float | None = None

    def take(self, window: Window) -> None:
        """Add a window; one in which requests are not counted says nothing."""
        requests = requests_of(window)
        if requests is not None:
            before = requests if self.mean is None else self.mean
            self.mean = before + (requests - before) / self.habits.requests_windows

    @property
    def few(self) -> bool:
        """Whether chance decides what a window shows."""
        return self.mean is not None and self.mean < self.habits.least_requests


@dataclass(slots=True)
class Rounds:
    """Rounds of trials: how many this one has had, what the last one found, and how long to rest after it."""

    habits: Habits
    trials: int = 0
    over: float = 0.0
    rest: int = field(init=False)

    def __post_init__(self) -> None:
        self.rest = self.habits.rest_windows

    def worth_log2(self, *, dear: bool) -> float:
        """What the next trial must promise."""
        worth = self.habits.worth_log2 + self.habits.worth_more_log2 * self.trials
        return worth * (self.habits.dearer if dear else 1.0)

    def end(self, over: float) -> int:
        """Windows to rest now: more after a round of trials that found nothing better than the one before."""
        if self.trials:
            better = over > self.over + self.habits.keep_log2
            self.rest = self.habits.rest_windows if better else self._longer()
            self.trials, self.over = 0, over
        return self.rest

    def start_anew(self) -> int:
        """Windows to rest in a new world: one that keeps changing is looked at ever more rarely."""
        self.over, self.rest = 0.0, self._longer()
        return self.rest

    def _longer(self) -> int:
        return min(2 * self.rest, self.habits.most_rest_windows)
