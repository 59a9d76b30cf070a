"""The exact simulation: processor sharing on every resource, from event to event.

A transfer that takes `work_s` alone progresses at rate 1/m while m applications use the resource. Each resource has a
virtual clock that runs at this rate. A transfer ends when the clock has advanced by its work, whoever else comes and
goes. Time is not discretised, so results are exact up to rounding.
"""
# ruff: noqa: PLR0913, PLR0917 - a kernel is one flat loop over arrays

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.schedule._compile import compiled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Result = tuple[Floats, Floats, Floats, Floats, float, int]

# Rows of the table of resources; one column per resource.
CLOCK, CLOCK_AT, DUE, BUSY_SINCE, BUSY = 0, 1, 2, 3, 4
# Rows of the tables of applications' times and states; one column per application.
WAKE, SINCE, IO, MOVED, END = 0, 1, 2, 3, 4
PHASE, OPENED, COMPUTED = 0, 1, 2
# How many applications have ended, and how many are still in their first phase.
DONE, FRESH = 0, 1


@compiled
def run_fluid(
    resources: int,
    phase_start: Ints,
    compute_s: Floats,
    work_s: Floats,
    place_start: Ints,
    place_ids: Ints,
    until_first: bool,
) -> Result:
    """Simulate all applications from t = 0.

    The phases of application a are `phase_start[a] .. phase_start[a + 1]`; its resources are given likewise by
    `place_ids`. Returns for each application the time with an open I/O subphase, the work done (in seconds alone) and
    the end (NaN if stopped before). Then for each resource its busy time, then the horizon and the number of events.
    """
    count = phase_start.size - 1
    state = np.zeros((3, count), np.int64)
    state[PHASE] = phase_start[:-1]
    times = np.zeros((5, count))
    times[END] = np.nan
    tally = np.array([0, count])
    slot_start = _slot_starts(resources, place_ids)
    slot_app = np.zeros(place_ids.size, np.int64)
    slot_target = np.zeros(place_ids.size)
    active = np.zeros(resources, np.int64)
    due_slot = np.zeros(resources, np.int64)
    table = np.zeros((5, resources))
    table[DUE] = np.inf

    now, events = 0.0, 0
    while tally[DONE] < count and not (until_first and tally[DONE] > 0 and tally[FRESH] == 0):
        app = int(np.argmin(times[WAKE]))
        resource = int(np.argmin(table[DUE]))
        events += 1
        if times[WAKE, app] > table[DUE, resource]:
            # The end of a transfer. With its last transfer the I/O of an application is over.
            now = table[DUE, resource]
            app = _finish(resource, now, slot_start, slot_app, slot_target, active, due_slot, table)
            times[MOVED, app] += work_s[state[PHASE, app]] / (place_start[app + 1] - place_start[app])
            state[OPENED, app] -= 1
            if state[OPENED, app] > 0:
                continue
            times[IO, app] += now - times[SINCE, app]
            _next_phase(app, phase_start, state, tally)
        else:
            now = times[WAKE, app]
        if _opens_io(app, now, phase_start, compute_s, work_s, state, times, tally):
            work = work_s[state[PHASE, app]]
            for place in range(place_start[app], place_start[app + 1]):
                resource = place_ids[place]
                slot = slot_start[resource] + active[resource]
                slot_app[slot] = app
                slot_target[slot] = _join(resource, now, active, table) + work
                _reschedule(resource, now, slot_start, slot_target, active, due_slot, table)
            state[OPENED, app] = place_start[app + 1] - place_start[app]

    _close(now, work_s, place_start, slot_start, slot_app, slot_target, active, table, state, times)
    return times[IO].copy(), times[MOVED].copy(), times[END].copy(), table[BUSY].copy(), now, events


@compiled
def _next_phase(app: int, phase_start: Ints, state: Ints, tally: Ints) -> None:
    state[PHASE, app] += 1
    tally[FRESH] -= state[PHASE, app] == phase_start[app] + 1


@compiled
def _opens_io(
    app: int,
    now: float,
    phase_start: Ints,
    compute_s: Floats,
    work_s: Floats,
    state: Ints,
    times: Floats,
    tally: Ints,
) -> bool:
    """Move the application to its next computation, its next I/O, or its end. Returns true if I/O begins now."""
    times[WAKE, app] = np.inf
    while state[PHASE, app] < phase_start[app + 1]:
        index = state[PHASE, app]
        if state[COMPUTED, app] == 0:
            state[COMPUTED, app] = 1
            if compute_s[index] > 0:
                times[WAKE, app] = now + compute_s[index]
                return False
        state[COMPUTED, app] = 0
        if work_s[index] > 0:
            times[SINCE, app] = now
            return True
        _next_phase(app, phase_start, state, tally)
    times[END, app] = now
    tally[DONE] += 1
    return False


@compiled
def _close(
    now: float,
    work_s: Floats,
    place_start: Ints,
    slot_start: Ints,
    slot_app: Ints,
    slot_target: Floats,
    active: Ints,
    table: Floats,
    state: Ints,
    times: Floats,
) -> None:
    """Count the operations that were open when the simulation stopped."""
    for app in range(times.shape[1]):
        if state[OPENED, app] > 0:
            times[IO, app] += now - times[SINCE, app]
    for resource in range(active.size):
        if active[resource] > 0:
            table[BUSY, resource] += now - table[BUSY_SINCE, resource]
            _advance(resource, now, active, table)
        for slot in range(slot_start[resource], slot_start[resource] + active[resource]):
            app = slot_app[slot]
            part = work_s[state[PHASE, app]] - (slot_target[slot] - table[CLOCK, resource])
            times[MOVED, app] += max(part, 0.0) / (place_start[app + 1] - place_start[app])


@compiled
def _slot_starts(resources: int, place_ids: Ints) -> Ints:
    """The first slot of each resource. A resource has one slot for every application placed on it."""
    starts = np.zeros(resources + 1, np.int64)
    for resource in place_ids:
        starts[resource + 1] += 1
    return np.cumsum(starts)


@compiled
def _advance(resource: int, now: float, active: Ints, table: Floats) -> None:
    """Advance the virtual clock of a used resource to the present."""
    table[CLOCK, resource] += (now - table[CLOCK_AT, resource]) / active[resource]
    table[CLOCK_AT, resource] = now


@compiled
def _join(resource: int, now: float, active: Ints, table: Floats) -> float:
    """Add a transfer to the resource. Returns its virtual clock, which restarts if the resource was idle."""
    if active[resource] == 0:
        table[CLOCK, resource] = 0.0
        table[CLOCK_AT, resource] = now
        table[BUSY_SINCE, resource] = now
    else:
        _advance(resource, now, active, table)
    active[resource] += 1
    return float(table[CLOCK, resource])


@compiled
def _finish(
    resource: int,
    now: float,
    slot_start: Ints,
    slot_app: Ints,
    slot_target: Floats,
    active: Ints,
    due_slot: Ints,
    table: Floats,
) -> int:
    """Remove the finished transfer from the resource. Returns its application."""
    slot = due_slot[resource]
    app = slot_app[slot]
    table[CLOCK, resource] = slot_target[slot]
    table[CLOCK_AT, resource] = now
    active[resource] -= 1
    last = slot_start[resource] + active[resource]
    slot_app[slot] = slot_app[last]
    slot_target[slot] = slot_target[last]
    if active[resource] == 0:
        table[BUSY, resource] += now - table[BUSY_SINCE, resource]
    _reschedule(resource, now, slot_start, slot_target, active, due_slot, table)
    return int(app)


@compiled
def _reschedule(
    resource: int,
    now: float,
    slot_start: Ints,
    slot_target: Floats,
    active: Ints,
    due_slot: Ints,
    table: Floats,
) -> None:
    """Compute when the resource's next transfer ends, and which one it is."""
    if active[resource] == 0:
        table[DUE, resource] = np.inf
        return
    best = slot_start[resource]
    for slot in range(best + 1, best + active[resource]):
        if slot_target[slot] < slot_target[best]:
            best = slot
    left = max(slot_target[best] - table[CLOCK, resource], 0.0)
    table[DUE, resource] = now + left * active[resource]
    due_slot[resource] = best
