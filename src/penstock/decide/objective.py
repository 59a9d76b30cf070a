"""What counts as better: how much applications get done, with nobody starved for somebody else's bytes.

Every policy and the guard compare a setting with the original one through `gain_log2`. The objective is one word:

- `fair` (the default): half the total, half the mean over directions, each as a ratio to the original. A
  direction may lose at most a twentieth and the total at most a thirtieth, whatever the other side gains.
- `bytes`: the total alone. A reader may starve beside a writer that moves more bytes.
- `worst`: the direction that does worst. Nobody may lose anything, so that little can be gained where reads and
  writes meet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.ratios import in_flight
from penstock.units import MIB
from penstock.window import DIRECTIONS, Window

Floats = NDArray[np.float64]
Objective = Literal["fair", "bytes", "worst"]
OBJECTIVES: tuple[Objective, ...] = ("fair", "bytes", "worst")

# What the total and a single direction may lose under `fair`, as base-2 logarithms: 3 % and 5 %.
TOTAL_SLACK_LOG2 = -math.log2(0.97)
DIRECTION_SLACK_LOG2 = -math.log2(0.95)
# A direction of a single window may lose 15 %: by chance it wanders more than a mean does.
WINDOW_SLACK_LOG2 = -math.log2(0.85)
# Requests in flight above which somebody waits for a direction, however few bytes it moves.
WAITING = 0.4
# A direction with this share of the bytes counts in any case.
SHARE = 0.08
# The pile of pages not sent yet grows and shrinks all the time, by so much a second or this share of what is sent.
USUAL_GROWTH_BYTES_PER_S = 16 * MIB
USUAL_GROWTH_SHARE = 0.5
# A pile that takes more than this share of what is written is filling up.
FILLING_SHARE = 0.5
_LEAST_BYTES_PER_S = 1.0


@dataclass(frozen=True, slots=True)
class Rates:
    """What was done for good in each direction, in bytes per second, and how many requests were in flight."""

    read: float
    write: float
    read_flight: float = 0.0
    write_flight: float = 0.0

    @property
    def total(self) -> float:
        """Both directions together."""
        return self.read + self.write

    @property
    def counts(self) -> tuple[bool, bool]:
        """Whether reads and writes are work that somebody waits for, or happen by the way."""
        total = self.total
        reads = self.read > 0 and (self.read >= SHARE * total or self.read_flight >= WAITING)
        writes = self.write > 0 and (self.write >= SHARE * total or self.write_flight >= WAITING)
        return reads, writes


def rates_of(window: Window) -> Rates:
    """What the application got done: bytes read, and bytes written that did not just pile up in the page cache."""
    metrics, seconds = window.metrics, window.seconds
    asked = metrics.get("app.read_bytes")
    read = (metrics.get("read.bytes") if asked is None else asked) or 0.0
    flights = (in_flight(window, way) or 0.0 for way in DIRECTIONS)
    return Rates(read / seconds, max(_written(window), 0.0) / seconds, *flights)


def _written(window: Window) -> float:
    """Bytes written for good.

    Not simply what the application wrote: an empty cache takes gigabytes at the speed of memory and makes any setting
    look good. Nor what was sent: a cache sends small writes in bursts, seconds after they were made. So growth of the
    pile not sent yet is taken off, and its decline added, as far as it exceeds what a cache does all the time.
    """
    written, grown = window.metrics.get("app.write_bytes"), window.metrics.get("dirty.grown_bytes")
    if drains(window):
        return 0.0
    if written is None or grown is None:
        return sent_bytes(window)
    usual = max(USUAL_GROWTH_BYTES_PER_S * window.seconds, USUAL_GROWTH_SHARE * sent_bytes(window))
    return written - math.copysign(max(abs(grown) - usual, 0.0), grown)


def sent_at_least(rates: Rates, window: Window) -> Rates:
    """The same rates, but no less written than was sent: another setting may make a cache hold less, and until it has
    shrunk to that, applications wait although as much is written for good as before.
    """
    return replace(rates, write=max(rates.write, sent_bytes(window) / window.seconds))


def sent_bytes(window: Window) -> float:
    """What was written over the wire."""
    return window.metrics.get("write.bytes") or 0.0


def updated_bytes(window: Window) -> float:
    """What was written over pages not sent yet.

    Counters are read one after the other, so a single window's may be below zero; over several that cancels out.
    """
    written, grown = window.metrics.get("app.write_bytes"), window.metrics.get("dirty.grown_bytes")
    if written is None or grown is None or "write.bytes" not in window.metrics:
        return 0.0
    return written - sent_bytes(window) - grown


def drains(window: Window) -> bool:
    """Whether nobody writes any more while an application reads, and pages written before are still being sent."""
    written = window.metrics.get("app.write_bytes")
    backlog = written is not None and written <= 0 and sent_bytes(window) > 0
    return backlog and (window.metrics.get("app.read_bytes") or 0.0) > 0


def fills(window: Window) -> bool:
    """Whether most of what applications write piles up in memory: nobody waits for the target yet."""
    written, grown = window.metrics.get("app.write_bytes"), window.metrics.get("dirty.grown_bytes")
    return written is not None and grown is not None and grown > FILLING_SHARE * written > 0


def gain_log2(
    now: Rates, original: Rates, objective: Objective = "fair", slack_log2: float = DIRECTION_SLACK_LOG2
) -> float:
    """How much better than the original a setting is, as a base-2 logarithm; 0 where nothing is known of the
    original. A direction may lose `slack_log2` where that is weighed.
    """
    reads, writes = (np.log2(max(rate, _LEAST_BYTES_PER_S)) for rate in (now.read, now.write))
    return float(gains_log2(np.array([reads]), np.array([writes]), original, objective, slack_log2)[0])


def gains_log2(
    reads: Floats,
    writes: Floats,
    original: Rates,
    objective: Objective = "fair",
    slack_log2: float = DIRECTION_SLACK_LOG2,
) -> Floats:
    """`gain_log2` of many settings at once, from the logarithms of their rates."""
    if original.total <= 0:
        return np.zeros_like(reads)
    total = np.log2(np.exp2(reads) + np.exp2(writes)) - _log2(original.total)
    sides = [
        rates - _log2(rate)
        for rates, rate, counts in zip(
            (reads, writes), (original.read, original.write), original.counts, strict=True
        )
        if counts
    ]
    found: Floats = total
    if objective != "bytes" and len(sides) > 1:
        worst = np.minimum(*sides)
        fair = 0.5 * total + 0.25 * (sides[0] + sides[1])
        within = np.minimum(total + TOTAL_SLACK_LOG2, worst + slack_log2)
        fair = np.where(within < 0, np.minimum(fair, within), fair)
        found = worst if objective == "worst" else fair
    return found


def _log2(rate: float) -> float:
    return math.log2(max(rate, _LEAST_BYTES_PER_S))
