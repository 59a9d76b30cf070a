"""The paper's simulation, as a cross-check: time advances by a fixed step, colliding applications take turns.

Whatever does not last a whole number of steps is rounded up to one, so results approach the exact ones
only as the step shrinks.
"""
# ruff: noqa: PLR0912, PLR0913, PLR0915, PLR0917 - a kernel is one flat loop over arrays

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.schedule._compile import compiled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Result = tuple[Floats, Floats, Floats, Floats, float, int]

SLACK = 1e-9


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
    phase = phase_start[:-1].copy()
    computing = np.ones(count, np.bool_)
    left = np.zeros(count)
    opened = np.zeros(count, np.int64)
    io_s = np.zeros(count)
    moved_s = np.zeros(count)
    end_s = np.full(count, np.nan)
    busy_s = np.zeros(resources)
    remaining = np.zeros((resources, count))
    turn = np.zeros(resources, np.int64)
    waiting = np.zeros(resources, np.int64)
    slack = SLACK * step_s
    done = 0
    fresh = count
    steps = 0
    for app in range(count):
        left[app] = compute_s[phase[app]]
    while True:
        now = steps * step_s
        # Move every application that has nothing left to do in its subphase on to the next one.
        for app in range(count):
            while phase[app] < phase_start[app + 1] and opened[app] == 0:
                index = phase[app]
                if computing[app]:
                    if left[app] > slack:
                        break
                    computing[app] = False
                    if work_s[index] > 0:
                        for place in range(place_start[app], place_start[app + 1]):
                            remaining[place_ids[place], app] = work_s[index]
                            waiting[place_ids[place]] += 1
                            opened[app] += 1
                        break
                phase[app] += 1
                computing[app] = True
                if phase[app] == phase_start[app] + 1:
                    fresh -= 1
                if phase[app] == phase_start[app + 1]:
                    end_s[app] = now
                    done += 1
                else:
                    left[app] = compute_s[phase[app]]
        if done == count or (until_first and done > 0 and fresh == 0):
            break
        for app in range(count):
            if opened[app] > 0:
                io_s[app] += step_s
            elif computing[app]:
                left[app] -= step_s
        for resource in range(resources):
            if waiting[resource] == 0:
                continue
            busy_s[resource] += step_s
            app = turn[resource]
            while remaining[resource, app] <= 0:
                app = (app + 1) % count
            part = min(step_s, remaining[resource, app])
            moved_s[app] += part / (place_start[app + 1] - place_start[app])
            remaining[resource, app] -= part
            if remaining[resource, app] <= slack:
                remaining[resource, app] = 0.0
                waiting[resource] -= 1
                opened[app] -= 1
            turn[resource] = (app + 1) % count
        steps += 1
    return io_s, moved_s, end_s, busy_s, steps * step_s, steps
