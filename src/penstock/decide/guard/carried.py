"""What comes over the wire in vain: settings that bring it pay for it, and are left where it is too much.

Other clients share the wire. Twice the bytes for the same work must bring twice as much, as bytes in flight must
(`prices`). More than `MOST_IN_VAIN` times what applications read is never kept where the original does not do that.
A setting that asks for more beforehand carries more until that is there, so it is judged only after that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.decide.guard.limits import CARRIED_WINDOWS, MOST_IN_VAIN, WASTEFUL_S
from penstock.knobs import Setting
from penstock.window import Window


@dataclass(slots=True)
class Carried:
    """Means over recent windows: what applications read, and what was carried for that."""

    windows: int = 0
    read: float = 0.0
    carried: float = 0.0

    def take(self, window: Window) -> None:
        """Add a window of a target whose requests may carry something in vain. Older ones lose weight."""
        kind = window.target.kind
        carried, read = window.metrics.get(kind.carried), window.metrics.get(kind.ways[0].asked)
        if carried is None or read is None:
            return
        self.windows += 1
        part = 1.0 / min(self.windows, CARRIED_WINDOWS)
        self.read += part * (read - self.read)
        self.carried += part * (carried - self.carried)

    @property
    def ratio(self) -> float:
        """Bytes carried for each that was read; 1 while too little is known."""
        known = self.windows >= 2 * CARRIED_WINDOWS and self.read > 0
        return max(self.carried / self.read, 1.0) if known else 1.0


@dataclass(slots=True)
class InVain:
    """What settings of one kind of work carry in vain. `original` is what the original does."""

    original: Carried = field(default_factory=Carried)
    visited: Carried = field(default_factory=Carried)
    #: What settings must bring for what they carry more than the original, as base-2 logarithms.
    prices: dict[Setting, float] = field(default_factory=dict)
    #: Settings that carried too much, and until when nothing is tried that asks for as much.
    wasteful: dict[Setting, float] = field(default_factory=dict)

    def take(self, place: Setting, window: Window) -> None:
        """Add a window at another setting than the original."""
        self.visited.take(window)
        if self.visited.windows >= 2 * CARRIED_WINDOWS:
            self.prices[place] = math.log2(max(self.visited.ratio / self.usual, 1.0))

    def price(self, place: Setting) -> float:
        """What a setting must bring for what it carries in vain."""
        return self.prices.get(place, 0.0)

    @property
    def is_too_much(self) -> bool:
        """Whether the setting in force carries too much in vain, and more than the original."""
        return self.visited.ratio > MOST_IN_VAIN * self.usual

    def leave(self, place: Setting, now_s: float) -> None:
        """The setting in force is left for that."""
        self.wasteful[place] = now_s + WASTEFUL_S

    def left_s(self, place: Setting, now_s: float) -> float:
        """For how long a setting may not be tried, because one that asks for no more of anything carried too much."""
        ends = [until_s for one, until_s in self.wasteful.items() if _covers(place, one)]
        return max(0.0, max(ends, default=now_s) - now_s)

    @property
    def usual(self) -> float:
        """What the original carries; before that is known, what it reads."""
        known = self.original.read > 0
        return max(self.original.carried / self.original.read, 1.0) if known else 1.0


def _covers(place: Setting, other: Mapping[str, int]) -> bool:
    return all(place[knob_id] >= value for knob_id, value in other.items())
