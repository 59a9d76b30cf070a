"""The kind of work a target does, found from its own counters."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from penstock.decide.habits import (
    COUNTING_SHARE,
    FRESH,
    KEPT_WORKS,
    LONGEST_ECHO,
    LONGEST_QUEUE_S,
    NEAR_SIZE_LOG2,
    ODD_WINDOWS,
    OPEN_S,
    WAITING,
)
from penstock.decide.objective import drains, rates_of, sent_bytes
from penstock.knobs import KnobSpace, Role, Setting, TargetKind
from penstock.knobs.target_kind import BYTES
from penstock.ratios import in_flight, request_bytes, request_s
from penstock.target_kinds import KINDS
from penstock.units import format_size
from penstock.window import DIRECTIONS, Window


def both_of(kind: TargetKind) -> str:
    """What the work of a target is called that does both."""
    return "both" if kind.unit == BYTES else f"both {kind.unit}"


_PLURALS = {way.name: way.plural for kind in KINDS.values() for way in kind.ways} | {
    both_of(kind): " and ".join(way.plural for way in kind.ways) for kind in KINDS.values()
}


@dataclass(frozen=True, slots=True)
class Work:
    """One way of work or both, with the size of the application's requests as a base-2 logarithm (NaN if
    unknown).
    """

    kind: str
    request_log2: float

    def like(self, other: Work) -> bool:
        """Whether the two may be the same work."""
        unknown = math.isnan(self.request_log2) or math.isnan(other.request_log2)
        return self.kind == other.kind and (
            unknown or abs(self.request_log2 - other.request_log2) < NEAR_SIZE_LOG2
        )

    def __str__(self) -> str:
        kind = _PLURALS[self.kind]
        return kind if math.isnan(self.request_log2) else f"{kind} of {format_size(2.0**self.request_log2)}"


@dataclass(slots=True)
class WorkBook:
    """The kinds of work seen so far, so that work that comes back gets the same name."""

    known: list[Work] = field(default_factory=list)

    def find(self, work: Work) -> Work:
        """The known work that this one is like. If there is none, this one is added."""
        for known in self.known:
            if known.like(work):
                return known
        self.known = [*self.known[1 - KEPT_WORKS :], work]
        return work


@dataclass(slots=True)
class WorkTracker:
    """The work of one target. It changes only after several windows in a row show other work."""

    work: Work | None = None
    odd: int = 0
    picture: list[float] = field(default_factory=list)

    def take(self, window: Window, book: WorkBook) -> Work:
        """Update from a busy window. Returns the entry of the book."""
        seen, kind = _picture(window), window.target.kind
        if not self.picture:
            self.picture = seen
        for i, value in enumerate(seen):
            self.picture[i] += FRESH * (value - self.picture[i])
        if self.work is None:
            self.work = book.find(_work(seen, kind))
        elif self.work.like(_work(self.picture, kind)):
            self.odd = 0
        else:
            self.odd += 1
            if self.odd >= ODD_WINDOWS:
                self.odd, self.picture, self.work = 0, seen, book.find(_work(seen, kind))
        return self.work


def moved(window: Window) -> tuple[float, float]:
    """What was moved over the wire in each way of work. An unknown value counts as 0."""
    first, second = window.ways
    return window.metrics.get(first.moved) or 0.0, window.metrics.get(second.moved) or 0.0


def requests_of(window: Window) -> float | None:
    """Requests that completed in a window; None where they are not counted."""
    names = window.target.kind.way_names
    counted = [count for way in names if (count := window.metrics.get(f"{way}.rpcs")) is not None]
    return sum(counted) if counted else None


def dominant(window: Window) -> str:
    """The way of work that moved more. It selects the model."""
    first, second = window.target.kind.way_names
    read, write = moved(window)
    return first if read > write else second


def echo_windows(window: Window) -> int:
    """The number of windows in which RPCs that were sent before a change still complete: the time of one RPC."""
    took_s = max(request_s(window, way) or 0.0 for way in window.target.kind.way_names)
    return min(round(took_s / window.seconds), LONGEST_ECHO)


def unfelt_windows(space: KnobSpace, before: Setting, after: Setting, window_s: float) -> int:
    """The number of windows before a change can show, if it acts on newly opened files only; else 0."""
    return math.ceil(OPEN_S / window_s) if space.acts_late(before, after) else 0


def queued_windows(space: KnobSpace, before: Setting, after: Setting, window: Window) -> int:
    """The number of windows in which pages queued before a change of the request size are still sent; else 0."""
    knob = space.of_role(Role.REQUEST_SIZE)
    if knob is None or knob.id in space.late or before[knob.id] == after[knob.id]:
        return 0
    sent, waiting = sent_bytes(window), window.metrics.get("dirty.bytes") or 0.0
    if sent <= 0:
        return 0
    return min(round(waiting / sent), math.ceil(LONGEST_QUEUE_S / window.seconds))


def hiding_windows(space: KnobSpace, before: Setting, after: Setting, window: Window) -> int:
    """`queued_windows` if the target both reads and writes, because the queue then hides the effect on reads;
    else 0.
    """
    return queued_windows(space, before, after, window) if all(rates_of(window).counts) else 0


@dataclass(slots=True)
class LargestRequest:
    """The bytes that requests carried at the original, the most of any window: a limit above that changes nothing."""

    bytes: float = 0.0

    def take(self, window: Window) -> None:
        """Add a window at the original."""
        self.bytes = max([self.bytes, *(request_bytes(window, direction) or 0.0 for direction in DIRECTIONS)])

    def as_used(self, space: KnobSpace, setting: Setting) -> Setting:
        """The setting with the lowest request size that would have done the same."""
        knob = space.of_role(Role.REQUEST_SIZE)
        if knob is None or knob.id not in setting or not self.bytes:
            return setting
        enough = (value for value in knob.values if value * knob.unit_bytes >= self.bytes)
        return setting.replace({knob.id: min(next(enough, setting[knob.id]), setting[knob.id])})


def _picture(window: Window) -> list[float]:
    """For each direction: bytes per second, requests in flight, application bytes and application calls per
    second.
    """
    metrics, found = window.metrics, []
    for way in window.ways:
        names = way.moved, way.asked, way.calls
        sent, asked, calls = ((metrics.get(name) or 0.0) / window.seconds for name in names)
        found += [sent, in_flight(window, way.name) or 0.0, asked, calls]
    if drains(window):
        # The pages still being sent belong to earlier work.
        found[4:] = [0.0] * 4
    return found


def _work(picture: list[float], of: TargetKind) -> Work:
    first, second = of.way_names
    read, read_flight, read_asked, read_calls, write, write_flight, write_asked, write_calls = picture
    total = read + write
    reads = read > 0 and (read >= COUNTING_SHARE * total or read_flight >= WAITING)
    writes = write > 0 and (write >= COUNTING_SHARE * total or write_flight >= WAITING)
    if reads and writes:
        kind, asked, calls = both_of(of), read_asked + write_asked, read_calls + write_calls
    elif reads or (not writes and read >= write):
        kind, asked, calls = first, read_asked, read_calls
    else:
        kind, asked, calls = second, write_asked, write_calls
    return Work(kind, math.log2(asked / calls) if asked > 0 and calls > 0 else math.nan)
