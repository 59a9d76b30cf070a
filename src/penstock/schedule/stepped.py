"""The paper's time-stepped simulation, as a cross-check. Applications that collide take turns.

Durations are rounded up to whole steps, so results approach the exact ones only as the step gets smaller.
"""
# ruff: noqa: PLR0912, PLR0913, PLR0917 - a kernel is one flat loop over arrays

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.schedule._compile import compiled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Result = tuple[Floats, Floats, Floats, Floats, float, int]

SLACK = 1e-9
# Rows of the table of applications' times and of the one of their states, a column each.
LEFT, IO, MOVED, END = 0, 1, 2, 3
PHASE, OPENED, COMPUTING = 0, 1, 2
# How many applications have ended, and how many are still in their first phase.
DONE, FRESH = 0, 1


@compiled
def run_stepped(
    resources: int,
    phase_start: Ints,
    compute_s: Floats,
    work_s: Floats,
    place_start: Ints,
    place_ids: Ints,
    until_first: bool,
    step_s: float,
) -> Result:
    """As `fluid.run_fluid`, in steps of `step_s`; the last returned number counts steps."""
    count = phase_start.size - 1
    state = np.zeros((3, count), np.int64)
    state[PHASE] = phase_start[:-1]
    state[COMPUTING] = 1
    times = np.zeros((4, count))
    times[END] = np.nan
    busy_s = np.zeros(resources)
    remaining = np.zeros((resources, count))
    turn = np.zeros(resources, np.int64)
    waiting = np.zeros(resources, np.int64)
    tally = np.array([0, count])
    slack, steps = SLACK * step_s, 0
    for app in range(count):
        times[LEFT, app] = compute_s[state[PHASE, app]]
    while True:
        for app in range(count):
            if _opens_io(app, steps * step_s, slack, phase_start, compute_s, work_s, state, times, tally):
                for place in range(place_start[app], place_start[app + 1]):
                    remaining[place_ids[place], app] = work_s[state[PHASE, app]]
                    waiting[place_ids[place]] += 1
                    state[OPENED, app] += 1
        if tally[DONE] == count or (until_first and tally[DONE] > 0 and tally[FRESH] == 0):
            break
        for app in range(count):
            if state[OPENED, app] > 0:
                times[IO, app] += step_s
            elif state[COMPUTING, app]:
                times[LEFT, app] -= step_s
        for resource in range(resources):
            if waiting[resource] == 0:
                continue
            busy_s[resource] += step_s
            app = turn[resource]
            while remaining[resource, app] <= 0:
                app = (app + 1) % count
            part = min(step_s, remaining[resource, app])
            times[MOVED, app] += part / (place_start[app + 1] - place_start[app])
            remaining[resource, app] -= part
            if remaining[resource, app] <= slack:
                remaining[resource, app] = 0.0
                waiting[resource] -= 1
                state[OPENED, app] -= 1
            turn[resource] = (app + 1) % count
        steps += 1
    return times[IO].copy(), times[MOVED].copy(), times[END].copy(), busy_s, steps * step_s, steps


@compiled
def _opens_io(
    app: int,
    now: float,
    slack: float,
    phase_start: Ints,
    compute_s: Floats,
    work_s: Floats,
    state: Ints,
    times: Floats,
    tally: Ints,
) -> bool:
    """Move an application that finished its subphase to the next one. Returns true if I/O begins now."""
    while state[PHASE, app] < phase_start[app + 1] and state[OPENED, app] == 0:
        if state[COMPUTING, app]:
            if times[LEFT, app] > slack:
                return False
            state[COMPUTING, app] = 0
            if work_s[state[PHASE, app]] > 0:
                return True
        state[PHASE, app] += 1
        state[COMPUTING, app] = 1
        tally[FRESH] -= state[PHASE, app] == phase_start[app] + 1
        if state[PHASE, app] == phase_start[app + 1]:
            times[END, app] = now
            tally[DONE] += 1
        else:
            times[LEFT, app] = compute_s[state[PHASE, app]]
    return False
