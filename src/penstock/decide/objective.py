"""The objective: how much better one setting is than another, given their read and write rates.

Every policy and the guard compare a setting with the original through `gain_log2`. The objective has three values:

- `fair` (the default): half the gain in total bytes, half the mean gain of reads, of writes and of the node's other
  targets. Each of them may lose at most 5 % and the total at most 3 %, whatever the others gain.
- `bytes`: the gain in total bytes. A reader may starve beside a writer that moves more bytes.
- `worst`: the gain of the direction that gains least. Where both directions are busy, this allows few changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.decide.habits import (
    COUNTING_SHARE,
    DIRECTION_SLACK_LOG2,
    FILLING_SHARE,
    SAME_BUSY,
    TOTAL_SLACK_LOG2,
    USUAL_GROWTH_BYTES_PER_S,
    USUAL_GROWTH_SHARE,
    WAITING,
)
from penstock.ratios import in_flight
from penstock.window import Window

Floats = NDArray[np.float64]
Objective = Literal["fair", "bytes", "worst"]
OBJECTIVES: tuple[Objective, ...] = ("fair", "bytes", "worst")

_LEAST_BYTES_PER_S = 1.0
# Metrics of a tuning group's window: what the node's other targets moved, and how many of them were busy.
OTHERS_BYTES, OTHERS_BUSY = "others.bytes", "others.busy"


@dataclass(frozen=True, slots=True)
class Rates:
    """Application throughput in both ways of work, and the requests in flight.

    `read` is that of a kind's first way and `write` that of its second, in its unit per second.

    `others` is what the node's other targets got meanwhile, `others_busy` how many of them were busy, both per target
    of the unit itself.
    """

    read: float
    write: float
    read_flight: float = 0.0
    write_flight: float = 0.0
    others: float = 0.0
    others_busy: float = 0.0

    @property
    def total(self) -> float:
        return self.read + self.write

    @property
    def counts(self) -> tuple[bool, bool]:
        """Whether reads and writes count, that is, whether applications wait for them."""
        total = self.total
        reads = self.read > 0 and (self.read >= COUNTING_SHARE * total or self.read_flight >= WAITING)
        writes = self.write > 0 and (self.write >= COUNTING_SHARE * total or self.write_flight >= WAITING)
        return reads, writes


def rates_of(window: Window) -> Rates:
    """The application's throughput: bytes read, and bytes written without those that only filled the page cache."""
    metrics, seconds = window.metrics, window.seconds
    (first, second), waits = window.ways, waiting_share(window)
    asked = metrics.get(first.asked)
    read = (metrics.get(first.moved) if asked is None else asked) or 0.0
    return Rates(
        read / seconds,
        max(_written(window), 0.0) / seconds,
        waits * (in_flight(window, first.name) or 0.0),
        waits * (in_flight(window, second.name) or 0.0),
        (metrics.get(OTHERS_BYTES) or 0.0) / seconds,
        metrics.get(OTHERS_BUSY) or 0.0,
    )


def waiting_share(window: Window) -> float:
    """The part of its time that a request waits behind others; all of it where the least it takes is not known.

    What is merely on a long way is in nobody's way, so a client that fills a long way takes no turns from others.
    """
    least_s = (window.metrics.get("round_trip.usec") or 0.0) / 1e6
    if not least_s:
        return 1.0
    names = window.target.kind.way_names
    requests = sum(window.metrics.get(f"{way}.rpcs") or 0.0 for way in names)
    spent_s = sum(window.metrics.get(f"{way}.usec") or 0.0 for way in names) / 1e6
    return max(1.0 - least_s * requests / spent_s, 0.0) if spent_s > 0 else 0.0


def _written(window: Window) -> float:
    """Bytes written, corrected for what only filled or emptied the page cache.

    Neither counter alone will do. Bytes that the application wrote: an empty cache takes gigabytes at memory speed,
    so any setting would look good. Bytes that were sent: a cache sends small writes in bursts, seconds after they
    were made. So growth of the dirty data beyond the usual amount is subtracted, and its decline added.
    """
    written, grown = window.metrics.get("app.write_bytes"), window.metrics.get("dirty.grown_bytes")
    if drains(window):
        return 0.0
    if written is None or grown is None:
        return sent_bytes(window)
    if written <= 0:
        # Whoever wrote it waits for it (fsync), or nobody does.
        return sent_bytes(window)
    usual = max(USUAL_GROWTH_BYTES_PER_S * window.seconds, USUAL_GROWTH_SHARE * sent_bytes(window))
    return written - math.copysign(max(abs(grown) - usual, 0.0), grown)


def sent_at_least(rates: Rates, window: Window) -> Rates:
    """The same rates, with at least the bytes that were sent counted as written.

    A new setting may make the cache hold less. Until it has shrunk, applications wait although as much is sent as
    before.
    """
    return replace(rates, write=max(rates.write, sent_bytes(window) / window.seconds))


def felt(rates: Rates, window: Window) -> Rates:
    """The same rates as applications feel them: where a cache fills, what it takes is written for them."""
    if not fills(window):
        return rates
    return replace(rates, write=(window.metrics.get("app.write_bytes") or 0.0) / window.seconds)


def sent_bytes(window: Window) -> float:
    """What was sent over the wire: bytes written, or operations that change something."""
    return window.metrics.get(window.ways[1].moved) or 0.0


def updated_bytes(window: Window) -> float:
    """Bytes that applications wrote over pages that were not sent yet.

    Counters are read one after the other, so the value for a single window may be negative. Over several windows the
    error cancels out.
    """
    written, grown = window.metrics.get("app.write_bytes"), window.metrics.get("dirty.grown_bytes")
    if written is None or grown is None or "write.bytes" not in window.metrics:
        return 0.0
    return written - sent_bytes(window) - grown


def drains(window: Window) -> bool:
    """Whether earlier writes are still being sent while applications read and write nothing new."""
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
    """How much better than the original these rates are, as a base-2 logarithm.

    The gain is 0 if nothing is known of the original. `slack_log2` is what one direction may lose under `fair`.
    """
    reads, writes = (np.array([_log2(rate)]) for rate in (now.read, now.write))
    others = _log2(now.others) if _comparable(now, original) else None
    return float(_gains_log2((reads, writes), others, original, objective, slack_log2)[0])


def gains_log2(reads: Floats, writes: Floats, original: Rates, objective: Objective = "fair") -> Floats:
    """`gain_log2` for many settings at once, from the base-2 logarithms of their rates; other targets as before."""
    return _gains_log2((reads, writes), None, original, objective, DIRECTION_SLACK_LOG2)


def _gains_log2(
    now: tuple[Floats, Floats],
    others: float | None,
    original: Rates,
    objective: Objective,
    slack_log2: float,
) -> Floats:
    """`now` and `others` are base-2 logarithms; `others` is None where the other targets cannot be compared."""
    reads, writes = now
    if original.total <= 0:
        return np.zeros_like(reads)
    beside, shared = original.others, original.others >= COUNTING_SHARE * (original.total + original.others)
    got = 2.0**others if others is not None and shared else beside
    total = np.log2(np.exp2(reads) + np.exp2(writes) + got) - _log2(original.total + beside)
    sides = [
        rates - _log2(rate)
        for rates, rate, counts in zip(
            (reads, writes), (original.read, original.write), original.counts, strict=True
        )
        if counts
    ]
    if others is not None and shared:
        sides.append(np.full_like(reads, others - _log2(beside)))
    found: Floats = total
    if objective != "bytes" and len(sides) > 1:
        worst = np.minimum.reduce(sides)
        fair = 0.5 * total + 0.5 * sum(sides) / len(sides)
        within = np.minimum(total + TOTAL_SLACK_LOG2, worst + slack_log2)
        fair = np.where(within < 0, np.minimum(fair, within), fair)
        found = worst if objective == "worst" else fair
    return found


def _comparable(now: Rates, original: Rates) -> bool:
    """Whether the other targets are at work now as they were then."""
    return original.others_busy > 0 and (
        abs(now.others_busy - original.others_busy) <= SAME_BUSY * original.others_busy
    )


def _log2(rate: float) -> float:
    return math.log2(max(rate, _LEAST_BYTES_PER_S))
