"""Stacks of measures interval after interval: only the newest window of a target was not measured before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.predict.features import MEASURES, Floats, measure, stack_windows
from penstock.window import Window

History = Sequence[Window]


class Recent:
    """Answers exactly as `stack_windows`, from the stack it made last wherever a history merely went on."""

    def __init__(self, direction: str, history: int) -> None:
        self._direction = direction
        self._history = history
        self._last: Floats = np.empty((0, history + 1, len(MEASURES)))
        # By identity of the newest window, which the history beside it keeps alive.
        self._known: dict[int, tuple[tuple[Window, ...], int]] = {}

    def stack(self, histories: Sequence[History]) -> Floats:
        """The measures of all targets, the current interval first."""
        stack = np.full((len(histories), self._history + 1, len(MEASURES)), np.nan)
        going_on, rows, fresh = [], [], []
        for index, windows in enumerate(histories):
            row = self._row_before(windows)
            if row is None:
                stack[index] = stack_windows([windows], self._direction, self._history)[0]
            else:
                going_on.append(index)
                rows.append(row)
                fresh.append(measure(windows[-1], self._direction))
        if going_on:
            stack[going_on, 1:] = self._last[rows, :-1]
            stack[going_on, 0] = fresh
        self._last = stack
        self._known = {id(windows[-1]): (tuple(windows), i) for i, windows in enumerate(histories) if windows}
        return stack

    def _row_before(self, windows: History) -> int | None:
        """Where the last stack holds this history less its newest window; None where it does not."""
        earlier = len(windows) - 1
        known = self._known.get(id(windows[-2])) if earlier > 0 else None
        if known is None:
            return None
        before, row = known
        whole = len(before) == earlier or earlier >= self._history
        return row if whole and before[-earlier:] == tuple(windows[:-1]) else None
