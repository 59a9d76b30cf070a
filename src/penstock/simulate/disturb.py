"""Changes a simulation while it runs: starts a job that was planned but not begun, begins or ends a fault.

A plan is fixed when its world is made, so whatever may happen later is in it from the start, asleep: jobs made by
`asleep` and faults at `NEVER_S`. Waking them changes nothing of what happened before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.simulate.assembly import SECOND_US, Job
from penstock.simulate.kernel.calendar import FAULT_BEGINS, FAULT_ENDS, STREAM_RUNS, schedule
from penstock.simulate.kernel.states import RUNNING, STOPPED
from penstock.simulate.simulation import Simulation

# No run lasts so long.
NEVER_S = 1e7


def asleep(job: Job) -> Job:
    """The same job, stopped before its first call."""
    return replace(job, start_s=2e-6, stop_s=1e-6)


def wake_job(simulation: Simulation, number: int) -> None:
    """Let a job of the plan go on that is asleep or was stopped; one that runs goes on."""
    stream = simulation.world.stream
    now_us = simulation.now_s * SECOND_US
    for s in _streams(simulation, number):
        stream.stop_us[s] = 0.0
        if stream.mode[s] == STOPPED:
            stream.phase_us[s] = now_us
            schedule(simulation.world, now_us, STREAM_RUNS, s)
            # From now on it runs: waking it twice must not start it twice.
            stream.mode[s] = RUNNING


def stop_job(simulation: Simulation, number: int) -> None:
    """Let a job end with the call it is in."""
    for s in _streams(simulation, number):
        simulation.world.stream.stop_us[s] = max(simulation.now_s * SECOND_US, 1.0)


def begin_faults(simulation: Simulation, numbers: Sequence[int]) -> None:
    """Let events of the plan begin now; those under way stay so."""
    _happen(simulation, numbers, FAULT_BEGINS, active=0)


def end_faults(simulation: Simulation, numbers: Sequence[int]) -> None:
    """End these faults now."""
    _happen(simulation, numbers, FAULT_ENDS, active=1)


def _happen(simulation: Simulation, numbers: Sequence[int], kind: int, active: int) -> None:
    world = simulation.world
    for number in numbers:
        if int(world.fault.active[number]) == active:
            schedule(world, simulation.now_s * SECOND_US, kind, number)


def _streams(simulation: Simulation, number: int) -> range:
    """A job's streams follow each other, in the order of the jobs."""
    jobs = simulation.plan.jobs
    first = sum(job.workload.streams for job in jobs[:number])
    return range(first, first + jobs[number].workload.streams)
