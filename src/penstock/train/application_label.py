"""Gains of applications from one held setting to the next, where the wire's next interval says nothing of them.

A hold is a stretch of one series under one setting. Its rate is what applications got in its last `WINDOW_S`, which
begin `SETTLE_S` after the change or later: by then a cache that fills faster than it drains is full, so filling it
does not pass for a gain. Shorter holds have no rate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.errors import DataError
from penstock.predict.trees.forest import Floats
from penstock.train.table import Ints, TraceTable

SETTLE_S, WINDOW_S = 4.0, 4.0
HOLD_S = SETTLE_S + WINDOW_S
# Probes come a little early or late.
_SLACK_S = 0.2


def held_gains(table: TraceTable, direction: str, follows: NDArray[np.bool_]) -> tuple[Ints, Floats]:
    """The last row of every hold that another follows, and the ratio of the next one's rate to its own.

    `follows` says of every row whether it continues the one before. Raises an error where no setting was held for
    long enough.
    """
    pages, flight = table.column("pages"), table.column("flight")
    begins = ~follows
    begins[1:] |= (np.diff(pages) != 0) | (np.diff(flight) != 0)
    hold = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(table)) - 1
    seconds, moved = table.column("seconds"), table.column(f"{direction}_app_bytes")
    until_s = np.cumsum(seconds)
    late = until_s[last][hold] - until_s < WINDOW_S - _SLACK_S
    spent, got = (np.bincount(hold, np.where(late, each, 0.0)) for each in (seconds, moved))
    known = np.bincount(hold, seconds) >= HOLD_S - _SLACK_S
    if not known.any():
        raise DataError(
            f"no setting was held for {HOLD_S:g} s, which application labels need; collect with "
            f"`penstock train collect --hold {HOLD_S:g}`"
        )
    rate = np.divide(got, spent, out=np.zeros(len(got)), where=known & (spent > 0))
    pairs = np.flatnonzero(known[:-1] & known[1:] & follows[first[1:]] & (rate[:-1] > 0))
    return last[pairs], rate[pairs + 1] / rate[pairs]
