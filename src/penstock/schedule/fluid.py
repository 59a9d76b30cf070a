"""The exact simulation: processor sharing on every resource, from one event to the next.

A transfer on a resource needs `work_s` seconds alone and progresses at 1/m while m applications use the
resource. Each resource keeps a virtual clock that runs at that rate, so a transfer ends when the clock has
advanced by its work, whoever else comes and goes. Nothing is discretised: results are exact up to rounding.
"""

from __future__ import annotations

import numpy as np

from penstock.schedule._compile import compiled

COMPUTING, TRANSFERRING, DONE = 0, 1, 2


@compiled
def run_fluid(resources, phase_start, compute_s, work_s, place_start, place_ids, until_first):  # type: ignore[no-untyped-def]
    """Play all applications from t = 0.

    Phases of application a are `phase_start[a] .. phase_start[a + 1]`, its resources likewise in `place_ids`.
    Returns per application the time with an open I/O subphase, the work moved (in seconds alone) and the
    end (NaN when stopped before), per resource its busy time, then the horizon and the number of events.
    """
    count = phase_start.size - 1
    phase = phase_start[:-1].copy()
    opened = np.zeros(count, np.int64)
    wake = np.full(count, np.inf)
    since = np.zeros(count)
    io_s = np.zeros(count)
    moved_s = np.zeros(count)
    end_s = np.full(count, np.nan)

    slot_start = _slot_starts(resources, place_ids)
    slot_app = np.zeros(place_ids.size, np.int64)
    slot_target = np.zeros(place_ids.size)
    active = np.zeros(resources, np.int64)
    clock = np.zeros(resources)
    clock_at = np.zeros(resources)
    due = np.full(resources, np.inf)
    due_slot = np.zeros(resources, np.int64)
    busy_s = np.zeros(resources)
    busy_since = np.zeros(resources)

    now = 0.0
    events = 0
    done = 0
    fresh = count
    ready = np.arange(count)
    ready_size = count
    starting = True
    while True:
        # Applications in `ready` have just begun a phase (or ended): start its compute part or its I/O.
        for position in range(ready_size):
            app = ready[position]
            begin_io = not starting and wake[app] == now
            wake[app] = np.inf
            while opened[app] == 0:
                if phase[app] == phase_start[app + 1]:
                    end_s[app] = now
                    done += 1
                    break
                index = phase[app]
                if not begin_io and compute_s[index] > 0:
                    wake[app] = now + compute_s[index]
                    break
                begin_io = False
                if work_s[index] > 0:
                    since[app] = now
                    for place in range(place_start[app], place_start[app + 1]):
                        resource = place_ids[place]
                        if active[resource] == 0:
                            clock[resource] = 0.0
                            busy_since[resource] = now
                        else:
                            clock[resource] += (now - clock_at[resource]) / active[resource]
                        clock_at[resource] = now
                        slot = slot_start[resource] + active[resource]
                        slot_app[slot] = app
                        slot_target[slot] = clock[resource] + work_s[index]
                        active[resource] += 1
                        opened[app] += 1
                        _reschedule(resource, now, slot_start, slot_target, active, clock, due, due_slot)
                else:
                    phase[app] += 1
                    if phase[app] == phase_start[app] + 1:
                        fresh -= 1
        starting = False
        ready_size = 0
        if done == count or (until_first and done > 0 and fresh == 0):
            break

        app = np.argmin(wake)
        resource = np.argmin(due)
        events += 1
        if wake[app] <= due[resource]:
            now = wake[app]
            ready[0] = app
            ready_size = 1
            continue
        now = max(now, due[resource])
        slot = due_slot[resource]
        app = slot_app[slot]
        clock[resource] = slot_target[slot]
        clock_at[resource] = now
        active[resource] -= 1
        last = slot_start[resource] + active[resource]
        slot_app[slot] = slot_app[last]
        slot_target[slot] = slot_target[last]
        if active[resource] == 0:
            busy_s[resource] += now - busy_since[resource]
        _reschedule(resource, now, slot_start, slot_target, active, clock, due, due_slot)
        moved_s[app] += work_s[phase[app]] / (place_start[app + 1] - place_start[app])
        opened[app] -= 1
        if opened[app] == 0:
            io_s[app] += now - since[app]
            phase[app] += 1
            if phase[app] == phase_start[app] + 1:
                fresh -= 1
            ready[0] = app
            ready_size = 1

    for app in range(count):
        if opened[app] > 0:
            io_s[app] += now - since[app]
    for resource in range(resources):
        if active[resource] > 0:
            busy_s[resource] += now - busy_since[resource]
            clock[resource] += (now - clock_at[resource]) / active[resource]
            for slot in range(slot_start[resource], slot_start[resource] + active[resource]):
                app = slot_app[slot]
                part = work_s[phase[app]] - (slot_target[slot] - clock[resource])
                moved_s[app] += max(part, 0.0) / (place_start[app + 1] - place_start[app])
    return io_s, moved_s, end_s, busy_s, now, events


@compiled
def _slot_starts(resources, place_ids):  # type: ignore[no-untyped-def]
    """Where each resource's slots begin, one slot for every application placed on it."""
    starts = np.zeros(resources + 1, np.int64)
    for resource in place_ids:
        starts[resource + 1] += 1
    return np.cumsum(starts)


@compiled
def _reschedule(resource, now, slot_start, slot_target, active, clock, due, due_slot):  # type: ignore[no-untyped-def]
    """When the resource's next transfer ends, and which."""
    if active[resource] == 0:
        due[resource] = np.inf
        return
    first = slot_start[resource]
    best = first
    for slot in range(first + 1, first + active[resource]):
        if slot_target[slot] < slot_target[best]:
            best = slot
    due[resource] = now + max(slot_target[best] - clock[resource], 0.0) * active[resource]
    due_slot[resource] = best
