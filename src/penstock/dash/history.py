"""What the page has seen of every target: throughput and setting over time, as much of it as a chart can show."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from penstock.dash.source import Point

# A quarter of an hour at one look a second.
MOST_POINTS = 900
MOST_STEPS = 400
# Of a node with more targets the busiest are sent to browsers; a chart of each would be unreadable anyway.
MOST_TRACKS = 64


class Track:
    """One target over time. The setting is kept as steps: when it became what."""

    def __init__(self) -> None:
        self.points: deque[tuple[float, ...]] = deque(maxlen=MOST_POINTS)
        self.steps: deque[tuple[float, dict[str, int]]] = deque(maxlen=MOST_STEPS)
        self.moved = 0.0

    def take(self, point: Point) -> None:
        """One more interval; what lies in the past already is known better and stays."""
        if self.points and point.t_s <= self.points[-1][0]:
            return
        self.moved += point.read_bytes_per_s + point.write_bytes_per_s
        twin = () if point.twin_bytes_per_s is None else (point.twin_bytes_per_s,)
        self.points.append((point.t_s, point.read_bytes_per_s, point.write_bytes_per_s, *twin))
        setting = dict(point.setting)
        if setting and (not self.steps or self.steps[-1][1] != setting):
            self.steps.append((point.t_s, setting))


class History:
    """All targets by name."""

    def __init__(self) -> None:
        self._tracks: dict[str, Track] = {}

    def take(self, points: Iterable[Point]) -> None:
        """Note what was measured."""
        for point in points:
            self._tracks.setdefault(point.target, Track()).take(point)

    def busiest(self) -> list[str]:
        """The targets that moved most, as many as are shown."""
        return sorted(self._tracks, key=lambda name: (-self._tracks[name].moved, name))[:MOST_TRACKS]

    def document(self) -> list[dict[str, Any]]:
        """The busiest targets with all that is known of them."""
        return [
            {"name": name, "points": list(self._tracks[name].points), "steps": list(self._tracks[name].steps)}
            for name in self.busiest()
        ]
