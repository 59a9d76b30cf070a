"""The distance of every heuristic from the exact optimum, on sets that are small enough to compute it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from penstock.schedule.allocation import ALLOCATORS, Sharing
from penstock.schedule.demand import demands_of
from penstock.schedule.generator import Scenario, generate
from penstock.schedule.optimum import OBJECTIVES, optimise
from penstock.schedule.placement import PLACERS
from penstock.schedule.profile import Profile
from penstock.schedule.simulation import play
from penstock.schedule.study.summary import Interval, interval
from penstock.schedule.study.trial import Method

APPLICATIONS, RESOURCES, COMPUTE_NODES = 4, 4, 96
LOADS = (0.3, 0.6, 0.9)


@dataclass(frozen=True, slots=True)
class Gap:
    """Mean of heuristic / optimum at one load, for each objective, with 95 % intervals."""

    load: float
    method: Method
    slowdown: Interval
    idle: Interval


def methods() -> list[Method]:
    """All combinations of allocation and placement; MCKP places by itself."""
    places = list(PLACERS)
    return [
        Method(allocation, placement)
        for allocation in ALLOCATORS
        for placement in (places[1:2] if ALLOCATORS[allocation].places else places)
    ]


def measure_gaps(
    profiles: Sequence[Profile], sets: int, seed: int, progress: Callable[[int, int], None]
) -> Iterator[Gap]:
    """Every heuristic against the optimum of its objective, over `sets` sets at each load."""
    done = 0
    for load in LOADS:
        ratios: dict[Method, list[tuple[float, float]]] = {method: [] for method in methods()}
        for index in range(sets):
            rng = Random(f"{seed}/gap/{load}/{index}")
            for method, ratio in _one_set(profiles, load, rng).items():
                ratios[method].append(ratio)
            done += 1
            progress(done, sets * len(LOADS))
        for method, pairs in ratios.items():
            slowdown, idle = zip(*pairs, strict=True)
            yield Gap(load, method, interval(slowdown), interval(idle))


def _one_set(profiles: Sequence[Profile], load: float, rng: Random) -> dict[Method, tuple[float, float]]:
    scenario = Scenario(APPLICATIONS, load, RESOURCES, COMPUTE_NODES)
    workload = generate(scenario, profiles, rng)
    best = optimise(workload, "first")
    least = [OBJECTIVES[name](best[name].outcome) for name in ("slowdown", "idle")]
    demands = demands_of(workload)
    sharing = Sharing(workload.resources, workload.compute_nodes, demands)
    found = {}
    for method in methods():
        allocation = ALLOCATORS[method.allocation]().allocate(sharing, rng)
        placer = PLACERS[method.placement]()
        placement = allocation.placement or placer.place(sharing, allocation.counts, rng)
        outcome = play(workload, demands, placement, "first")
        found[method] = (outcome.mean_io_slowdown / least[0], outcome.machine_idle_time / least[1])
    return found


def table_of_gaps(gaps: Sequence[Gap]) -> Iterator[str]:
    """One line per method, one pair of columns per load."""
    loads = sorted({gap.load for gap in gaps})
    yield "| method | " + " | ".join(f"slowdown, {x:g} | idle time, {x:g}" for x in loads) + " |"
    yield "|---" * (1 + 2 * len(loads)) + "|"
    for method in sorted({gap.method for gap in gaps}):
        own = {gap.load: gap for gap in gaps if gap.method == method}
        cells = [f"{own[load].slowdown} | {own[load].idle}" for load in loads]
        yield f"| {method} | " + " | ".join(cells) + " |"
