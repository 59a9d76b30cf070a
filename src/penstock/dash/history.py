"""Throughput and setting of every target over time, limited to what a chart can show."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.dash.source import Point
from penstock.knobs.target_kind import BYTES

# 15 minutes at one sample per second.
MOST_POINTS = 900
MOST_STEPS = 400
# On a node with more targets only the busiest are sent to browsers.
MOST_TRACKS = 64


class Track:
    """The history of one target. The setting is kept as steps: a time and the setting from then on."""

    def __init__(self) -> None:
        self.points: deque[tuple[float, ...]] = deque(maxlen=MOST_POINTS)
        self.steps: deque[tuple[float, dict[str, int]]] = deque(maxlen=MOST_STEPS)
        self.moved = 0.0
        self.unit = BYTES

    def take(self, point: Point) -> None:
        """Add an interval. An interval that is older than the newest one is ignored."""
        if self.points and point.t_s <= self.points[-1][0]:
            return
        self.unit = point.unit
        self.moved += point.first_per_s + point.second_per_s
        twin = () if point.twin_per_s is None else (point.twin_per_s,)
        self.points.append((point.t_s, point.first_per_s, point.second_per_s, *twin))
        self.step(point.t_s, point.setting)

    def step(self, t_s: float, setting: Mapping[str, int]) -> None:
        """Record that this setting is in force from then on. A change older than the last step is ignored."""
        last_s, last = self.steps[-1] if self.steps else (t_s, None)
        if setting and setting != last and t_s >= last_s:
            self.steps.append((t_s, dict(setting)))


class History:
    """The histories of all targets, by name."""

    def __init__(self) -> None:
        self._tracks: dict[str, Track] = {}

    def take(self, points: Iterable[Point], changes: Iterable[Mapping[str, Any]] = ()) -> None:
        """Add measurements, and the settings made meanwhile as `Book.changes` gives them."""
        news: list[tuple[float, int, Point | Mapping[str, Any]]] = [(point.t_s, 0, point) for point in points]
        news += [(float(change["t_s"]), 1, change) for change in changes if change["setting"]]
        for t_s, _, one in sorted(news, key=lambda each: each[:2]):
            if isinstance(one, Point):
                self._tracks.setdefault(one.target, Track()).take(one)
            elif one["target"] in self._tracks:
                self._tracks[one["target"]].step(t_s, one["setting"])

    def busiest(self) -> list[str]:
        """The targets that moved most, at most as many as are shown. The few that count operations come first."""

        def rank(name: str) -> tuple[bool, float, str]:
            track = self._tracks[name]
            return track.unit == BYTES, -track.moved, name

        return sorted(self._tracks, key=rank)[:MOST_TRACKS]

    def document(self) -> list[dict[str, Any]]:
        """The busiest targets with their histories."""
        return [
            {"name": name, "unit": track.unit, "points": list(track.points), "steps": list(track.steps)}
            for name, track in ((name, self._tracks[name]) for name in self.busiest())
        ]
