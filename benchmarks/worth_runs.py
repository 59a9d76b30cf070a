"""What a world looks like before anything is tuned, and what tuning then brings there."""

from __future__ import annotations

import math
from dataclasses import replace

from penstock.agent.work_diary import WorkDiary
from penstock.evaluate.simulated_client import INTERVAL_S, Tuning, simulated_client
from penstock.evaluate.trial import WARMUP_S
from penstock.evaluate.tuners import shipped_policy
from penstock.events import WorkSeenEvent
from penstock.predict.tuned_cases import TunedCase
from penstock.simulate.assembly import Plan
from penstock.simulate.simulation import Simulation
from penstock.train.worlds import DescribedWorld

# A client that does one kind of work for so much of its time has the gain of that work.
MOSTLY = 0.8


def tuned_cases(world: DescribedWorld, seconds: float, seed: int) -> list[TunedCase]:
    """One case for every client of a world that mostly does one kind of work. Each world counts once in all."""
    plan = world.plan(seed)
    before, seen = _moved(plan, "default", seconds)
    after, _ = _moved(plan, shipped_policy(), seconds)
    found = []
    for client, entries in enumerate(seen):
        work = _main(entries)
        if work is not None and before[client] > 0:
            gain_log2 = math.log2(max(after[client], 1.0) / before[client])
            name = f"{world.name}/{client}"
            found.append(TunedCase(name, work.work, work.look, gain_log2))
    return [replace(case, weight=round(1.0 / len(found), 3)) for case in found]


def _moved(plan: Plan, policy: str, seconds: float) -> tuple[list[float], list[list[WorkSeenEvent]]]:
    """The bytes that each client's applications moved under a policy, and what its agent would note untuned."""
    simulation = Simulation(plan)
    simulation.run_until(WARMUP_S)
    loops = [simulated_client(simulation, Tuning(policy), client) for client in range(plan.clients)]
    diaries = [WorkDiary() for _ in loops]
    for loop in loops:
        loop.tick()
    before = [simulation.totals(client).app_bytes for client in range(plan.clients)]
    for _ in range(round(seconds / INTERVAL_S)):
        simulation.run_until(simulation.now_s + INTERVAL_S)
        for loop, diary in zip(loops, diaries, strict=True):
            diary.take(step.window for step in loop.tick())
    after = [simulation.totals(client).app_bytes for client in range(plan.clients)]
    moved = [float(now - then) for now, then in zip(after, before, strict=True)]
    return moved, [diary.entries(simulation.now_s) for diary in diaries]


def _main(entries: list[WorkSeenEvent]) -> WorkSeenEvent | None:
    """The kind of work that takes most of a client's time; None where several do."""
    longest = max(entries, key=lambda one: one.busy_s, default=None)
    if longest is None or longest.busy_s < MOSTLY * sum(one.busy_s for one in entries):
        return None
    return longest
