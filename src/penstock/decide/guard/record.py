"""What the guard remembers of a target, and how cautious it is."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.decide.work import Work, echo_windows, work_of
from penstock.knobs import Setting
from penstock.window import Window

RECENT_WINDOWS = 6
PATH_STEPS = 6


@dataclass(frozen=True, slots=True)
class GuardLimits:
    """How cautious the guard is; the defaults suit an interval of half a second."""

    dwell_s: float = 1.4
    jitter_s: float = 1.0
    pause_s: float = 2.0
    hysteresis_s: float = 30.0
    hysteresis_confidence: float = 0.9
    changes_per_hour: int = 240
    worse_ratio: float = 0.85
    judge_windows: int = 10
    crash_ratio: float = 0.4
    crash_windows: int = 2
    blacklist_s: float = 60.0
    breaker_reverts: int = 4
    breaker_window_s: float = 300.0
    breaker_s: float = 300.0
    memory_floor_ratio: float = 0.05


class Seen(NamedTuple):
    """A busy window and how much it got done. Most are never asked for more, so the rest is worked out on demand."""

    window: Window
    rate: float

    @property
    def setting(self) -> Setting:
        """The setting in force."""
        return self.window.setting

    @property
    def work(self) -> Work:
        """What kind of work it was."""
        return work_of(self.window)

    @property
    def echo(self) -> int:
        """For how many windows its RPCs come back after a change."""
        return echo_windows(self.window)


@dataclass(slots=True)
class Trial:
    """Changes that still have to prove themselves against the last setting that did.

    The interval of a change itself is not judged, nor those in which RPCs sent before it come back. Changes that
    follow before the verdict join the trial: what counts is whether the target is better off than before the first
    of them. Only the work the trial began with can tell: windows of other work have nothing to be compared with.
    """

    decision_id: str
    came_from: Setting
    went_to: Setting
    baseline_bytes_per_s: float
    work: Work
    rates: list[float] = field(default_factory=list)
    skip: int = 1

    def take(self, seen: Seen) -> None:
        """Add a window, if it was measured at the setting on trial and of the work on trial."""
        if seen.setting != self.went_to:
            return
        if self.skip > 0:
            self.skip -= 1
        elif self.work.like(seen.work):
            self.rates.append(seen.rate)

    def joined(self, went_to: Setting, echo: int) -> None:
        """Another change before the verdict."""
        self.went_to, self.skip = went_to, 1 + echo


@dataclass(slots=True)
class Record:
    """One target's past, as far as any rule asks for it."""

    recent: deque[Seen] = field(default_factory=lambda: deque(maxlen=RECENT_WINDOWS))
    path: deque[Setting] = field(default_factory=lambda: deque(maxlen=PATH_STEPS))
    changed_s: deque[float] = field(default_factory=deque)
    reverted_s: deque[float] = field(default_factory=deque)
    left_s: dict[Setting, float] = field(default_factory=dict)
    banned: dict[Setting, Ban] = field(default_factory=dict)
    trial: Trial | None = None
    pauses: int = 0
    quiet_until_s: float = 0.0
    broken_until_s: float = 0.0
    last_busy_s: float = float("-inf")

    def start_anew(self, quiet_until_s: float) -> None:
        """After a pause or a reconnect: what was measured before does not count any more."""
        self.trial = None
        self.recent.clear()
        self.quiet_until_s = max(self.quiet_until_s, quiet_until_s)


@dataclass(frozen=True, slots=True)
class Ban:
    """A setting that did harm here, until when it is not tried again, and how often that happened."""

    until_s: float
    strikes: int

    def again(self, now_s: float, length_s: float) -> Ban:
        """Another strike: twice as long as the last; ten lengths of good conduct forgive one."""
        forgiven = int(max(0.0, now_s - self.until_s) / (10 * length_s))
        strikes = max(0, self.strikes - forgiven) + 1
        return Ban(now_s + length_s * 2.0 ** (strikes - 1), strikes)


def useful_bytes_per_s(window: Window) -> float:
    """What the application got done for good: read, sent, or written over in the cache before it was sent.

    Not what it wrote: a cache that fills takes gigabytes at the speed of memory and makes any setting look good.
    Nor the wire alone: a writer that waits for its own data in flight keeps it busy and gets nothing done.
    """
    metrics, seconds = window.metrics, window.seconds
    asked = metrics.get("app.read_bytes")
    read = (metrics.get("read.bytes") if asked is None else asked) or 0.0
    written, updated = metrics.get("write.bytes") or 0.0, metrics.get("cache_update_bytes") or 0.0
    return read / seconds + written / seconds + updated / seconds
