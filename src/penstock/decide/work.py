"""What kind of work a target does, as far as its own counters tell."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from penstock.decide.objective import SHARE, WAITING, drains, rates_of, sent_bytes, updated_bytes
from penstock.knobs import KnobSpace, Role, Setting
from penstock.ratios import in_flight, request_s
from penstock.units import format_size
from penstock.window import DIRECTIONS, Window

# Requests whose sizes differ by less, in powers of two, may be of one kind.
NEAR_LOG2 = 1.5
# However slow RPCs are, a change is not left unjudged for longer.
LONGEST_ECHO = 8
# Pages queued before a change leave in requests as they were queued. However many there are, a change is not left
# unjudged for longer.
LONGEST_QUEUE_S = 12.0
# How much of the smoothed picture of the work a new window is; and windows in a row that must agree on new work.
FRESH = 0.3
ODD_WINDOWS = 3
KEPT_WORKS = 12
# The page cache does much of the work where more than this share of all bytes is written over pages not sent yet, or
# this share of what is read comes from it. It does some of it from the lower share on.
REWRITTEN = 0.05
HITS = 0.5
SOME_HITS = 0.15
# Windows that this picture remembers, and how many standard errors of what is written over count as chance.
CACHE_WINDOWS = 20
CHANCE = 0.7
# So long applications may take to open files anew, where a knob acts on those alone.
OPEN_S = 3.0
_COUNTED = {way: (f"{way}.bytes", f"app.{way}_bytes", f"app.{way}_calls") for way in DIRECTIONS}


@dataclass(frozen=True, slots=True)
class Work:
    """Reading, writing or both, and the size of the application's requests, NaN where it is not known."""

    kind: str
    request_log2: float

    def like(self, other: Work) -> bool:
        """Whether both could be the same work."""
        unknown = math.isnan(self.request_log2) or math.isnan(other.request_log2)
        return self.kind == other.kind and (
            unknown or abs(self.request_log2 - other.request_log2) < NEAR_LOG2
        )

    def __str__(self) -> str:
        kind = {"read": "reads", "write": "writes", "both": "reads and writes"}[self.kind]
        return kind if math.isnan(self.request_log2) else f"{kind} of {format_size(2.0**self.request_log2)}"


@dataclass(slots=True)
class WorkBook:
    """The kinds of work met so far, so that the same work has the same name when it comes back."""

    known: list[Work] = field(default_factory=list)

    def find(self, work: Work) -> Work:
        """The known work that this is, or this one, known from now on."""
        for known in self.known:
            if known.like(work):
                return known
        self.known = [*self.known[1 - KEPT_WORKS :], work]
        return work


@dataclass(slots=True)
class WorkTracker:
    """The work of one target: what it was, unless a few windows in a row say otherwise."""

    work: Work | None = None
    odd: int = 0
    picture: list[float] = field(default_factory=list)

    def take(self, window: Window, book: WorkBook) -> Work:
        """Take in a busy window; answers a work of the book."""
        seen = _picture(window)
        if not self.picture:
            self.picture = seen
        for i, value in enumerate(seen):
            self.picture[i] += FRESH * (value - self.picture[i])
        if self.work is None:
            self.work = book.find(_work(seen))
        elif self.work.like(_work(self.picture)):
            self.odd = 0
        else:
            self.odd += 1
            if self.odd >= ODD_WINDOWS:
                self.odd, self.picture, self.work = 0, seen, book.find(_work(seen))
        return self.work


def work_of(window: Window) -> Work:
    """The work of one window."""
    return _work(_picture(window))


def moved(window: Window) -> tuple[float, float]:
    """The bytes read and written over the wire; what is not known counts as nothing."""
    return window.metrics.get("read.bytes") or 0.0, window.metrics.get("write.bytes") or 0.0


def dominant(window: Window) -> str:
    """The direction that moved more bytes; it chooses the model."""
    read, write = moved(window)
    return "read" if read > write else "write"


def echo_windows(window: Window) -> int:
    """For how many windows after a change RPCs sent before it still come back: as long as an RPC takes."""
    took_s = max(request_s(window, direction) or 0.0 for direction in DIRECTIONS)
    return min(round(took_s / window.seconds), LONGEST_ECHO)


def unfelt_windows(space: KnobSpace, before: Setting, after: Setting, window_s: float) -> int:
    """For how many windows after a change nothing shows, because files must be opened anew first; else none."""
    return math.ceil(OPEN_S / window_s) if space.acts_late(before, after) else 0


def queued_windows(space: KnobSpace, before: Setting, after: Setting, window: Window) -> int:
    """For how many windows after a change requests still leave in the size they were queued in; else none."""
    knob = space.of_role(Role.REQUEST_SIZE)
    if knob is None or knob.id in space.late or before[knob.id] == after[knob.id]:
        return 0
    sent, waiting = sent_bytes(window), window.metrics.get("dirty.bytes") or 0.0
    if sent <= 0:
        return 0
    return min(round(waiting / sent), math.ceil(LONGEST_QUEUE_S / window.seconds))


def hiding_windows(space: KnobSpace, before: Setting, after: Setting, window: Window) -> int:
    """`queued_windows` where reads meet writes: there a queue hides what a change does to reads; else none."""
    return queued_windows(space, before, after, window) if all(rates_of(window).counts) else 0


@dataclass(slots=True)
class CacheShare:
    """How much of recent work the page cache did. What a setting brings to such work shows only after minutes.

    What is written over pages not sent yet is a small difference of large counters, so that single windows tell
    next to nothing: its mean counts, less what chance may have added to it.
    """

    windows: int = 0
    recent: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    #: The variance of what single windows say was written over such pages.
    spread: float = 0.0

    def take(self, window: Window) -> None:
        """Add a window; older ones fade."""
        self.windows += 1
        fresh = 1.0 / min(self.windows, CACHE_WINDOWS)
        now = _cached(window)
        off = now[0] - self.recent[0]
        self.spread += fresh * ((1.0 - fresh) * off * off - self.spread)
        self.recent = tuple(old + fresh * (new - old) for old, new in zip(self.recent, now, strict=True))

    @property
    def large(self) -> bool:
        """Whether too much is written over pages not sent yet, or read from the cache."""
        updated, moved, hits, asked = self.recent
        chance = CHANCE * math.sqrt(self.spread / min(max(self.windows, 1), 2 * CACHE_WINDOWS))
        return updated - chance > REWRITTEN * moved or hits > HITS * asked

    @property
    def some(self) -> bool:
        """Whether a part of what is read comes from the cache."""
        _, _, hits, asked = self.recent
        return hits > SOME_HITS * asked


def _cached(window: Window) -> tuple[float, float, float, float]:
    """Bytes written over pages not sent yet, of all bytes; bytes read from the cache, of all that were read."""
    updated = updated_bytes(window)
    asked, read = window.metrics.get("app.read_bytes") or 0.0, window.metrics.get("read.bytes") or 0.0
    return updated, sum(moved(window)) + max(updated, 0.0), max(asked - read, 0.0), asked


def _picture(window: Window) -> list[float]:
    """Per direction: bytes a second, requests in flight, bytes and calls of applications a second."""
    metrics, found = window.metrics, []
    for way, names in _COUNTED.items():
        sent, asked, calls = ((metrics.get(name) or 0.0) / window.seconds for name in names)
        found += [sent, in_flight(window, way) or 0.0, asked, calls]
    if drains(window):
        # What is still being sent was another work's.
        found[4:] = [0.0] * 4
    return found


def _work(picture: list[float]) -> Work:
    read, read_flight, read_asked, read_calls, write, write_flight, write_asked, write_calls = picture
    total = read + write
    reads = read > 0 and (read >= SHARE * total or read_flight >= WAITING)
    writes = write > 0 and (write >= SHARE * total or write_flight >= WAITING)
    if reads and writes:
        kind, asked, calls = "both", read_asked + write_asked, read_calls + write_calls
    elif reads or (not writes and read >= write):
        kind, asked, calls = "read", read_asked, read_calls
    else:
        kind, asked, calls = "write", write_asked, write_calls
    return Work(kind, math.log2(asked / calls) if asked > 0 and calls > 0 else math.nan)
