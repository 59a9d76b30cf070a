"""The measurements that an agent kept beside its log: throughput and setting in every interval, wanted or not."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from penstock.agent.interval_lines import RecordedInput
from penstock.agent.rotated_file import numbered
from penstock.agent.window_recording import FILES, PartReader, Recorded, RunBegins
from penstock.dash.source import Point, point_of
from penstock.errors import PenstockError
from penstock.window import Window


class RecordedPoints:
    """Follows a recording while an agent writes it. What cannot be read, or is damaged, has no points."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader = PartReader(path)
        self._inode: int | None = None
        self._offset_s: float | None = None

    def read(self, since_s: float = 0.0) -> list[Point]:
        """The points since the last call and, by the time of day, since then; oldest first."""
        found: list[Point] = []
        try:
            with self._path.open("rb") as newest:
                for one in self._new(newest, since_s):
                    found += self._points(one)
        except (OSError, PenstockError):
            pass
        return [point for point in found if point.t_s >= since_s]

    def _new(self, newest: IO[bytes], since_s: float) -> Iterator[Recorded]:
        """Files that were last written before that time are not read: a large one takes seconds."""
        if self._inode is None:
            parts = [numbered(self._path, number) for number in range(FILES - 1, 0, -1)]
            for part in parts:
                if part.exists() and part.stat().st_mtime >= since_s:
                    yield from PartReader(part).take(part.read_bytes())
        held = os.fstat(newest.fileno())
        if held.st_ino != self._inode:
            self._inode, self._reader = held.st_ino, PartReader(self._path)
        if held.st_mtime < since_s:
            return
        newest.seek(self._reader.taken_bytes)
        yield from self._reader.take(newest.read(), growing=True)

    def _points(self, one: Recorded) -> Iterator[Point]:
        if isinstance(one, RunBegins):
            self._offset_s = one.wall_offset_s
        elif isinstance(one, RecordedInput) and self._offset_s is not None:
            for window in one.interval.windows:
                if isinstance(window, Window):
                    yield point_of(window, window.t1_s + self._offset_s)


def joined(logged: Iterable[Point], recorded: Sequence[Point]) -> list[Point]:
    """The recorded points, and those of the log from before them: a log has a tuning group's mean instead."""
    first_s = min((point.t_s for point in recorded), default=float("inf"))
    return [*(point for point in logged if point.t_s < first_s), *recorded]


def thinned(points: Iterable[Point], most: int) -> list[Point]:
    """At most so many points of each target: means over equal times, with the setting at their end."""
    by_target: dict[str, list[Point]] = {}
    for point in points:
        by_target.setdefault(point.target, []).append(point)
    found: list[Point] = []
    for own in by_target.values():
        found += own if len(own) <= most else _means(own, most)
    return found


def _means(points: Sequence[Point], most: int) -> Iterator[Point]:
    first_s, last_s = points[0].t_s, max(point.t_s for point in points)
    width_s = max(last_s - first_s, 1e-9) / most
    bins: dict[int, list[Point]] = {}
    for point in points:
        bins.setdefault(min(most - 1, int((point.t_s - first_s) / width_s)), []).append(point)
    for _, own in sorted(bins.items()):
        first = sum(point.first_per_s for point in own) / len(own)
        second = sum(point.second_per_s for point in own) / len(own)
        yield replace(own[-1], first_per_s=first, second_per_s=second)
