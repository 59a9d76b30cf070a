"""What a node works on while nothing is tuned: kinds of work, how long each was busy, and what it looks like.

`penstock fleet worth` says from such entries what tuning would bring. They hold nothing about users, files or jobs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.decide.groups import mount_of
from penstock.decide.look import KINDS, Look
from penstock.decide.memory import targets_of
from penstock.decide.objective import rates_of
from penstock.decide.work import Work, WorkBook, WorkTracker
from penstock.events import WorkSeenEvent
from penstock.knobs import Setting
from penstock.knobs.target_kind import BYTES
from penstock.snapshot import Target
from penstock.window import Void, Window

ENTRY_S = 600.0
# Kinds of work of one entry; what comes later waits for the next.
MOST_KINDS = 32

_Key = tuple[str, str, Work, Setting]


@dataclass(slots=True)
class _Noted:
    """What one kind of work did since the last entry."""

    look: Look | None
    busy_s: float = 0.0
    read_bytes: float = 0.0
    write_bytes: float = 0.0


@dataclass(slots=True)
class WorkDiary:
    """Adds up the windows of one node. Only what moves bytes counts, and only while its original is in force."""

    _books: dict[str, WorkBook] = field(default_factory=dict)
    _trackers: dict[Target, WorkTracker] = field(default_factory=dict)
    _seen: dict[_Key, _Noted] = field(default_factory=dict)
    _due_s: float | None = None

    def take(self, windows: Iterable[Window | Void]) -> None:
        """Add the windows of one interval. Targets of one mount that do the same work are busy together."""
        busy_s: dict[tuple[str, _Key], float] = {}
        present = set()
        for window in windows:
            present.add(window.target)
            if isinstance(window, Window) and window.moved_per_s > 0 and _counts(window):
                key = self._take(window)
                place = mount_of(window.target), key
                busy_s[place] = max(busy_s.get(place, 0.0), window.seconds)
        for (_, key), seconds in busy_s.items():
            if key in self._seen:
                self._seen[key].busy_s += seconds
        for gone in self._trackers.keys() - present:
            del self._trackers[gone]

    def note(self, windows: Iterable[Window | Void], now_s: float, wall_s: float) -> list[WorkSeenEvent]:
        """Add the windows of one interval; every ten minutes, answer what was seen."""
        self.take(windows)
        if self._due_s is None:
            self._due_s = now_s + ENTRY_S
        if now_s < self._due_s:
            return []
        self._due_s = now_s + ENTRY_S
        return self.entries(wall_s)

    def entries(self, wall_s: float) -> list[WorkSeenEvent]:
        """What was seen since the last entries; from now on it begins anew."""
        found = [_entry(key, seen, wall_s) for key, seen in self._seen.items() if seen.busy_s > 0]
        self._seen.clear()
        return found

    def _take(self, window: Window) -> _Key:
        target = window.target
        book = self._books.setdefault(mount_of(target), WorkBook())
        work = self._trackers.setdefault(target, WorkTracker()).take(window, book)
        key = (target.fs, targets_of(target.kind), work, window.setting)
        if key not in self._seen and len(self._seen) >= MOST_KINDS:
            return key
        seen = self._seen.setdefault(key, _Noted(Look(work.kind) if work.kind in KINDS else None))
        rates = rates_of(window)
        seen.read_bytes += rates.read * window.seconds
        seen.write_bytes += rates.write * window.seconds
        if seen.look is not None:
            seen.look.take(window)
        return key


def _counts(window: Window) -> bool:
    at_home = window.original is None or window.original == window.setting
    return at_home and window.target.kind.unit == BYTES and not window.target.kind.whole_mount


def _entry(key: _Key, seen: _Noted, wall_s: float) -> WorkSeenEvent:
    fs, targets, work, setting = key
    size = work.request_log2
    return WorkSeenEvent(
        time_s=wall_s,
        fs=fs,
        targets=targets,
        work=work.kind,
        request_log2=None if math.isnan(size) else round(size, 3),
        home=setting,
        look=tuple(round(value, 3) for value in seen.look.mean) if seen.look is not None else (),
        busy_s=round(seen.busy_s, 1),
        read_bytes=round(seen.read_bytes),
        write_bytes=round(seen.write_bytes),
    )
