"""A recording of a client as a source: raw counters become throughput and settings. There are no decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from penstock.dash.source import About, Look, ReadOnly, point_of
from penstock.decision import changes
from penstock.decision_reasons import Reason
from penstock.events import DecisionEvent
from penstock.observe.recorded_windows import Replay
from penstock.observe.recording import read_recording
from penstock.window import Window


class RecordingSource(ReadOnly):
    """All windows of some files, read once. A changed setting is shown as made by somebody."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(paths)
        self._windows = [window for path in self._paths for window in _windows(path)]
        self._shown = False

    @property
    def about(self) -> About:
        names = ", ".join(path.name for path in self._paths)
        return About("recording", f"recording {names}", live=False, virtual=True, period_s=60.0)

    def look(self) -> Look:
        """Everything on the first poll, nothing afterwards."""
        first = min((window.t0_s for window in self._windows), default=0.0)
        last = max((window.t1_s for window in self._windows), default=0.0)
        if self._shown:
            return Look(last - first)
        self._shown = True
        points = [point_of(window, window.t1_s - first) for window in self._windows]
        return Look(last - first, points, list(_moves(self._windows, first)))


def _windows(path: Path) -> Iterator[Window]:
    found = Replay().windows(read_recording(path))
    return (window for window in found if isinstance(window, Window))


def _moves(windows: Sequence[Window], first_s: float) -> Iterator[DecisionEvent]:
    """One event for each change of a target's setting between two windows."""
    by_target: dict[str, list[Window]] = {}
    for window in windows:
        by_target.setdefault(window.target.name, []).append(window)
    for name, of_target in by_target.items():
        for number, (before, after) in enumerate(pairwise(of_target)):
            moved = tuple(str(change) for change in changes(before.setting, after.setting))
            if moved:
                yield DecisionEvent(
                    id=f"{name}-{number}",
                    time_s=after.t1_s - first_s,
                    target=name,
                    before=before.setting,
                    wanted=after.setting,
                    actual=after.setting,
                    changes=moved,
                    made=moved,
                    reason=Reason.RECORDED,
                    sentence="somebody changed the setting; a recording does not say who or why",
                )
