"""Processor sharing on every resource, as in `fluid`, for applications that come and go.

A seat holds one running application; seats are used again. The simulation advances from arrival to arrival, so that
whoever arrives can be placed with the knowledge of who is there.
"""
# ruff: noqa: PLR0913, PLR0917 - a kernel is one flat loop over arrays

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.schedule._compile import compiled
from penstock.schedule.fluid import DUE, _finish, _join, _reschedule

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Rows of the table of seats' times; one column per seat.
WAKE, COMPUTE, WORK, SINCE, IO, NODES, END = 0, 1, 2, 3, 4, 5, 6
# Rows of the table of seats' states.
LEFT, OPENED, WIDTH = 0, 1, 2


@compiled
def advance(
    until_s: float,
    times: Floats,
    state: Ints,
    places: Ints,
    slots: tuple[Ints, Ints, Floats],
    active: Ints,
    due_slot: Ints,
    table: Floats,
    idle: tuple[Floats, float],
) -> int:
    """Simulate up to `until_s`. Returns the number of events.

    Each seat computes, then does I/O on its places, `LEFT` times. A seat that has finished has an `END`. `idle` holds
    the node-seconds spent in I/O per interval, and the length of an interval.
    """
    slot_start, slot_app, slot_target = slots
    events = 0
    while True:
        seat = int(np.argmin(times[WAKE]))
        resource = int(np.argmin(table[DUE]))
        now = min(times[WAKE, seat], table[DUE, resource])
        if now > until_s or now == np.inf:
            return events
        events += 1
        if times[WAKE, seat] > table[DUE, resource]:
            seat = _finish(resource, now, slot_start, slot_app, slot_target, active, due_slot, table)
            state[OPENED, seat] -= 1
            if state[OPENED, seat] > 0:
                continue
            times[IO, seat] += now - times[SINCE, seat]
            _spread(idle[0], idle[1], times[SINCE, seat], now, times[NODES, seat])
            state[LEFT, seat] -= 1
            times[WAKE, seat] = now + times[COMPUTE, seat]
            if state[LEFT, seat] == 0:
                times[WAKE, seat] = np.inf
                times[END, seat] = now
            continue
        times[WAKE, seat] = np.inf
        times[SINCE, seat] = now
        for place in range(state[WIDTH, seat]):
            resource = places[seat, place]
            slot = slot_start[resource] + active[resource]
            slot_app[slot] = seat
            slot_target[slot] = _join(resource, now, active, table) + times[WORK, seat]
            _reschedule(resource, now, slot_start, slot_target, active, due_slot, table)
        state[OPENED, seat] = state[WIDTH, seat]


@compiled
def _spread(bins: Floats, width_s: float, since_s: float, now_s: float, nodes: float) -> None:
    """Add node-seconds to every interval that the I/O touched."""
    first = int(since_s / width_s)
    last = min(int(now_s / width_s), bins.size - 1)
    for index in range(min(first, bins.size - 1), last + 1):
        begin = max(since_s, index * width_s)
        end = now_s if index == bins.size - 1 else min(now_s, (index + 1) * width_s)
        bins[index] += max(end - begin, 0.0) * nodes
