"""Writing over pages in memory before they were sent: how much of the work that is, and how large a set is rewritten.

A set of F bytes that is rewritten at random, d bytes of it dirty, meets a dirty page with a chance of d/F. Only the
rest makes a page dirty that must be sent, so applications get app = wire / (1 - d/F) until memory is the limit, and
F = d / (1 - wire/app) as long as d stands still. So where F fits under the dirty limit, a slow drain pays.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.decide.guard.limits import REWRITING_SHARE, REWRITING_WINDOWS, UNSENT_SLACK, GuardLimits
from penstock.decide.objective import sent_bytes, updated_bytes
from penstock.ratios import in_flight, request_bytes
from penstock.window import Window


@dataclass(slots=True)
class Rewriting:
    """Means over recent windows, in bytes a second: written by applications, sent, written over; bytes dirty and on
    their way; and the most that may be dirty.
    """

    windows: int = 0
    written: float = 0.0
    sent: float = 0.0
    over: float = 0.0
    waiting: float = 0.0
    in_flight: float = 0.0
    #: What a request carries, and a call of an application.
    request_bytes: float = 0.0
    call_bytes: float = 0.0
    #: Files closed in a window.
    closes: float = 0.0
    limit: float = 0.0

    def take(self, window: Window, limit_bytes: float) -> None:
        """Add a window. Older ones lose weight."""
        self.limit = limit_bytes
        self.windows += 1
        part = 1.0 / min(self.windows, REWRITING_WINDOWS)
        written = window.metrics.get("app.write_bytes") or 0.0
        self.written += part * (written / window.seconds - self.written)
        self.sent += part * (sent_bytes(window) / window.seconds - self.sent)
        self.over += part * (updated_bytes(window) / window.seconds - self.over)
        request = request_bytes(window, "write")
        if request is not None:
            self.request_bytes += (request - self.request_bytes) * (part if self.request_bytes else 1.0)
        self.closes += part * ((window.metrics.get("app.closes") or 0.0) - self.closes)
        calls = window.metrics.get("app.write_calls") or 0.0
        if calls > 0:
            self.call_bytes += (written / calls - self.call_bytes) * (part if self.call_bytes else 1.0)
        on_their_way = (in_flight(window, "write") or 0.0) * (request or 0.0)
        self.in_flight += part * (on_their_way - self.in_flight)
        self.waiting += part * ((window.metrics.get("dirty.bytes") or 0.0) - self.waiting)

    @property
    def share(self) -> float:
        """The share of what applications write that never has to be sent."""
        return min(max(self.over / self.written, 0.0), 1.0) if self.written > 0 else 0.0

    @property
    def large(self) -> bool:
        """Whether rewriting is part of the work."""
        return self.share > REWRITING_SHARE

    @property
    def file_bytes(self) -> float | None:
        """The size of what is rewritten; None where it cannot be told."""
        return self.waiting / self.share if self.large and self.waiting > 0 else None

    @property
    def pile_bytes(self) -> float:
        """What would be dirty if it were sent slowly."""
        found = self.file_bytes
        return self.waiting if found is None else min(found, self.limit)

    def unsent_s(self, sent: float) -> float:
        """How long what waits takes to be sent at such a rate."""
        return self.waiting / sent if sent > 0 else 0.0

    def most_unsent_s(self, limits: GuardLimits) -> float:
        """How long it may take. The original itself, which this describes, may leave more unsent than that."""
        return max(limits.unsent_s, UNSENT_SLACK * self.unsent_s(self.sent))
