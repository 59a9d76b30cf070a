"""Whether the page cache does much of a world's work: such a world says little about what settings bring."""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.decide.objective import updated_bytes
from penstock.decide.work import moved
from penstock.window import Window

# The page cache does much of the work if more than REWRITTEN of all bytes are written over pages not sent yet, or
# more than HITS of the bytes read come from the cache. Fewer hits do not hide what a setting does to the rest: random
# readers with a third to two thirds of hits gain up to 1.9 times.
REWRITTEN = 0.05
HITS = 0.95
# The means cover this many windows. CHANCE is the number of standard errors that it subtracts.
CACHE_WINDOWS = 20
CHANCE = 0.7


@dataclass(slots=True)
class CacheShare:
    """How much of the recent work the page cache did.

    The bytes written over pages not sent yet are a small difference of large counters, so one window says little. The
    mean over many windows is used, less what chance may have added.
    """

    windows: int = 0
    recent: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    #: The variance of the first value of `recent` between windows.
    spread: float = 0.0

    def take(self, window: Window) -> None:
        """Add a window. Older windows lose weight."""
        self.windows += 1
        fresh = 1.0 / min(self.windows, CACHE_WINDOWS)
        now = _cached(window)
        off = now[0] - self.recent[0]
        self.spread += fresh * ((1.0 - fresh) * off * off - self.spread)
        self.recent = tuple(old + fresh * (new - old) for old, new in zip(self.recent, now, strict=True))

    @property
    def large(self) -> bool:
        """Whether much of the work is writing over pages not sent yet, or reading from the cache."""
        updated, carried, hits, asked = self.recent
        chance = CHANCE * math.sqrt(self.spread / min(max(self.windows, 1), 2 * CACHE_WINDOWS))
        return updated - chance > REWRITTEN * carried or hits > HITS * asked


def _cached(window: Window) -> tuple[float, float, float, float]:
    """Bytes written over pages not sent yet; all bytes moved; bytes read from the cache; bytes that applications
    read.
    """
    updated = updated_bytes(window)
    asked, read = window.metrics.get("app.read_bytes") or 0.0, window.metrics.get("read.bytes") or 0.0
    return updated, sum(moved(window)) + max(updated, 0.0), max(asked - read, 0.0), asked
