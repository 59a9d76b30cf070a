"""Processes in virtual time, and the three things they wait for: a delay, a slot, and a processor.

A process is a generator. It yields the seconds it waits, or an `Awaited` that resumes it. Ties are broken by a
counter, so the same seed gives the same trace.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

Resume = Callable[[], None]
Awaited = Callable[[Resume], None]
Process = Generator["float | Awaited", None, None]


@dataclass(slots=True)
class Timeline:
    """The clock and what happens next."""

    now_s: float = 0.0
    events: int = 0
    _due: list[tuple[float, int, Resume]] = field(default_factory=list)
    _count: int = 0

    def after(self, delay_s: float, resume: Resume) -> None:
        """Call this so much later."""
        self._count += 1
        heapq.heappush(self._due, (self.now_s + delay_s, self._count, resume))

    def start(self, process: Process) -> None:
        """Let a process begin, and go on whenever what it waits for is there."""

        def step() -> None:
            for wanted in process:
                if isinstance(wanted, float):
                    self.after(wanted, step)
                else:
                    wanted(step)
                return

        self.after(0.0, step)

    def run_until(self, t_s: float) -> None:
        """Let everything happen up to that time."""
        while self._due and self._due[0][0] <= t_s:
            self.now_s, _, resume = heapq.heappop(self._due)
            self.events += 1
            resume()
        self.now_s = t_s


@dataclass(slots=True)
class Processor:
    """Equal units that each do one thing at a time, first come first served."""

    engine: Timeline
    units: int
    _free_s: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._free_s = [0.0] * self.units

    def work(self, seconds: float) -> float:
        """How long until work that is asked for now will be done."""
        begins_s = max(self.engine.now_s, heapq.heappop(self._free_s))
        heapq.heappush(self._free_s, begins_s + seconds)
        return begins_s + seconds - self.engine.now_s


@dataclass(slots=True)
class Slots:
    """A limit of requests in flight. Who closes a file may go one beyond it, one at a time, as in Lustre.

    Who waited for a slot has it `wake_s` before it goes on.
    """

    engine: Timeline
    limit: int
    wake_s: float = 0.0
    used: int = 0
    closing: int = 0
    _waiting: deque[tuple[bool, Resume]] = field(default_factory=deque)

    def take(self, *, closes: bool = False) -> Awaited:
        """Wait for a slot."""

        def wait(resume: Resume) -> None:
            self._waiting.append((closes, resume))
            self._admit(0.0)

        return wait

    def give(self, *, closes: bool = False) -> None:
        """Give a slot back."""
        self.used -= 1
        self.closing -= closes
        self._admit(self.wake_s)

    def set(self, limit: int) -> None:
        """Another limit; what is in flight beyond it drains."""
        self.limit = limit
        self._admit(self.wake_s)

    def _admit(self, wake_s: float) -> None:
        while self._waiting:
            if self.used < self.limit:
                closes, resume = self._waiting.popleft()
            elif self.used == self.limit and not self.closing and any(one for one, _ in self._waiting):
                at = next(i for i, (one, _) in enumerate(self._waiting) if one)
                closes, resume = self._waiting[at]
                del self._waiting[at]
            else:
                return
            self.used += 1
            self.closing += closes
            self.engine.after(wake_s, resume)
