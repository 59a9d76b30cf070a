"""What work looks like at the default setting: three counters that tell which surveyed cases resemble it.

Requests in flight tell whether splitting calls can pay (one at a time waits for the disk and the wire in turn,
several overlap already) and whether more slots can (only full ones are waited for). Bytes and seconds of a request
tell what lies behind the slots. Simulated writes are not compared: their counters show the page cache, not the
target, and choosing cases by them gained nothing. A recorded case that looks the same in all three is taken for the
same work on such a client, reading or writing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.decide.habits import FLIGHTS_LOG2, MEAN_WINDOWS, SAME, SAME_LOG2, UNLIKE, WIDTHS_LOG2
from penstock.ratios import in_flight, request_bytes, request_s
from penstock.window import Window

Floats = NDArray[np.float64]

# The kinds of work that are compared at all.
KINDS = ("read", "write")


@dataclass(slots=True)
class Look:
    """The mean of one direction's counters over windows, as base-2 logarithms; none before the first window."""

    direction: str
    windows: int = 0
    mean: tuple[float, ...] = ()

    def take(self, window: Window) -> None:
        """Add a window at the default; one in which this direction does nothing says nothing."""
        seen = _counters(window, self.direction)
        if not seen:
            return
        self.windows += 1
        part = 1.0 / min(self.windows, MEAN_WINDOWS)
        before = self.mean or seen
        self.mean = tuple(old + part * (new - old) for old, new in zip(before, seen, strict=True))

    def votes(self, cases: Floats, weights: Floats) -> Floats:
        """The votes of each case, a row of the same counters each, for work that looks like this."""
        if not self.mean:
            return weights
        here = np.array([self.mean])
        apart = np.nan_to_num(np.abs(cases - here), nan=np.inf)
        same = np.exp(-0.5 * (apart / SAME_LOG2[self.direction]) ** 2).prod(axis=1)
        alike = np.ones(len(cases))
        if self.direction in WIDTHS_LOG2:
            apart = (_comparable(cases) - _comparable(here)) / WIDTHS_LOG2[self.direction]
            alike = np.exp(-0.5 * (np.where(np.isnan(apart), 1.0, apart) ** 2).sum(axis=1)) + UNLIKE
        found: Floats = weights * alike + SAME * np.maximum(weights - 1.0, 0.0) * same
        return found


def look_of(kind: str, windows: Iterable[Window]) -> tuple[float, ...]:
    """What work of this kind looks like in some windows at the default; empty where it is not compared."""
    if kind not in KINDS:
        return ()
    look = Look(kind)
    for window in windows:
        look.take(window)
    return look.mean


def _counters(window: Window, direction: str) -> tuple[float, ...]:
    found = (in_flight(window, direction), request_bytes(window, direction), request_s(window, direction))
    known = [value for value in found if value is not None and value > 0.0]
    return tuple(math.log2(value) for value in known) if len(known) == len(found) else ()


def _comparable(rows: Floats) -> Floats:
    return np.concatenate([np.clip(rows[:, :1], *FLIGHTS_LOG2), rows[:, 1:]], axis=1)
