"""Goals of scheduling by rules: equal counts, learned curves, decisions on a large system, and a site's week.

Prints one line per figure with its goal. Usage: schedule_rules.py [--part counts|learned|decision|week] [--sets N]
[--seed N] [--data DIR]
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

from benchmarks.schedule import large_site

from penstock.schedule.advice import Rule, SiteScene, advise, advise_together
from penstock.schedule.allocation import ALLOCATORS
from penstock.schedule.application import ApplicationSet, Curve
from penstock.schedule.arrivals import Replayed
from penstock.schedule.demand import demands_of
from penstock.schedule.family import FAMILIES, family_profiles
from penstock.schedule.generator import Scenario, generate
from penstock.schedule.job import Job
from penstock.schedule.learn.pooled import Runs, learn_pool
from penstock.schedule.plan import allocate
from penstock.schedule.profile import Profile
from penstock.schedule.simulation import play
from penstock.schedule.site import ApplicationSection, PlatformSection, SiteSection
from penstock.schedule.study.trial import draw_set
from penstock.schedule.tracegen import TracePlan, generate_trace
from penstock.schedule.week import match_trace, play_rule
from penstock.units import MB, MIB

LOADS = (0.1, 0.3, 0.5, 0.7, 0.9)
SIZES = (20, 60)
RULES = ("idle-nodes", "balance", "tcpu", "bestbdw")


def jobs_of(workload: ApplicationSet, curves: Mapping[str, Curve] | None = None) -> list[Job]:
    """The set's applications as jobs, with the curves they are believed to have."""
    known = curves or {}
    return [
        Job(
            one.name, one.compute_nodes, one.compute_s, one.io_bytes, known.get(_profile(one.name), one.curve)
        )
        for one in workload.applications
    ]


def _profile(name: str) -> str:
    return name.partition("-")[2]


def equal_counts(sets: int, seed: int) -> None:
    """Jobs announced together against `schedule allocate`, on sets of many shapes."""
    equal = dict.fromkeys(ALLOCATORS, 0)
    for index in range(sets):
        rng = Random(f"{seed}/{index}")
        resources = rng.choice((4, 12, 20, 48, 96))
        size = rng.randint(2, 120)
        scenario = Scenario(
            size, rng.uniform(0.02, 0.95) * size / resources, resources, rng.randint(size, 2000)
        )
        workload = generate(scenario, family_profiles(rng.choice((2, 8, 32))), rng)
        for name in ALLOCATORS:
            scene = SiteScene(workload.resources, workload.compute_nodes, rule=Rule(name, seed=index))
            found = tuple(len(one.resources) for one in advise_together(scene, jobs_of(workload)))
            equal[name] += found == allocate(workload, name, Random(index)).counts
    for name, number in equal.items():
        print(f"rules: {name}: counts of {number} of {sets} sets equal schedule allocate's (goal {sets})")


@dataclass(frozen=True)
class Source:
    """Runs of every application of a data set, and what makes two of them similar."""

    runs: dict[str, Runs]
    kind: dict[str, str]


def ost_runs(data: Path) -> Source:
    """IOR on Lustre: an application is nodes x processes x size x operation; every repetition is a run."""
    runs: dict[str, dict[int, list[float]]] = {}
    for row in csv.DictReader((data / "ost-curves" / "ior_results.csv").open()):
        if row["group"].endswith("Fig 10. OST"):
            shape, _, osts = row["file"].rpartition("_")
            name = f"{row['op']}-{shape}"
            runs.setdefault(name, {}).setdefault(int(osts), []).append(float(row["bw_mib"]) * MIB)
    return Source(dict(runs), {name: f"shared {name.partition('-')[0]}" for name in runs})


def application_runs(data: Path) -> Source:
    """Nine applications on I/O nodes: bandwidth is the volume of a run, which is not told, over its run time."""
    runs: dict[str, dict[int, list[float]]] = {}
    for row in csv.DictReader((data / "app-curves" / "runtime.csv").open(), delimiter=";"):
        if row["forwarders"] != "0":
            name = f"{row['application']}-{row['clients']}-{row['processes']}"
            runs.setdefault(name, {}).setdefault(int(row["forwarders"]), []).append(
                1e12 / float(row["runtime"])
            )
    return Source(dict(runs), dict.fromkeys(runs, "unknown"))


def io_node_runs(data: Path, points: bool) -> Source:
    """189 patterns on I/O nodes: the smallest, median and largest repetition, or one point for each count."""
    runs: dict[str, dict[int, list[float]]] = {}
    kind = {}
    for row in csv.DictReader((data / "io-node-curves" / "curves_mn4.csv").open()):
        if row["forwarders"] != "0":
            columns = ("max",) if points else ("min", "median_bw_mbps", "max")
            values = [float(row[column]) * MB for column in columns]
            runs.setdefault(row["scenario"], {})[int(row["forwarders"])] = values
            kind[row["scenario"]] = "file-per-process" if row["layout"] == "0" else "shared"
    return Source(dict(runs), kind)


def learn_half(source: Source, rng: Random) -> dict[str, Curve]:
    """Curves from half of each application's runs, drawn at random."""
    pools: dict[str, dict[str, dict[int, list[float]]]] = {}
    for name, runs in source.runs.items():
        every = [(count, value) for count, values in sorted(runs.items()) for value in values]
        rng.shuffle(every)
        half: dict[int, list[float]] = {}
        for count, value in every[: max(len(every) // 2, 1)]:
            half.setdefault(count, []).append(value)
        pools.setdefault(source.kind[name], {})[name] = half
    found = {}
    for kind, pool in pools.items():
        found.update({name: one.curve for name, one in learn_pool(pool, kind.split(" ")[0]).items()})
    return found


def true_curve(runs: Runs) -> Curve:
    counts = sorted(runs)
    return Curve(tuple(counts), tuple(math.fsum(runs[n]) / len(runs[n]) for n in counts))


def choices(name: str, source: Source, splits: int, seed: int) -> None:
    """How good the counts are that learned curves choose, and how far the curves are from the truth."""
    truth = {one: true_curve(runs) for one, runs in source.runs.items()}
    reached, errors = [], []
    for index in range(splits):
        for one, curve in learn_half(source, Random(f"{seed}/{name}/{index}")).items():
            own = truth[one]
            best = max(curve.counts, key=lambda count: (curve.at(count), -count))
            reached.append(own.at(best) / max(own.bytes_per_s))
            errors += [abs(math.log(curve.at(n) / own.at(n))) for n in own.counts]
    print(
        f"rules: {name}: learned from half the runs, the chosen count has {statistics.mean(reached):.3f} of the "
        f"best bandwidth (goal 0.93); bandwidths are off by {100 * math.expm1(statistics.median(errors)):.0f} % "
        f"in the median, {100 * math.expm1(statistics.mean(errors)):.0f} % in the mean"
    )


def ratios_to_static(workload: ApplicationSet, jobs: list[Job]) -> dict[str, float]:
    """The mean slowdown of each rule, which sees `jobs`, over that of `static`, played with the true curves."""
    demands = demands_of(workload)
    found = {}
    for rule in ("static", *RULES):
        scene = SiteScene(workload.resources, workload.compute_nodes, rule=Rule(rule))
        placed = tuple(one.resources for one in advise_together(scene, jobs))
        found[rule] = play(workload, demands, placed, "first").mean_io_slowdown
    return {rule: found[rule] / found["static"] for rule in RULES}


def slowdowns(name: str, source: Source, sets: int, seed: int) -> None:
    """Rules on learned curves against `static`: at every load, and over all."""
    profiles = tuple(Profile(one, true_curve(runs)) for one, runs in source.runs.items())
    # Ten ways to halve the runs.
    learnt = [learn_half(source, Random(f"{seed}/{name}/{index}")) for index in range(10)]
    everything: list[dict[str, float]] = []
    for size in SIZES:
        for load in LOADS:
            rows = []
            for index in range(sets):
                workload, _ = draw_set(profiles, size, load, Random(f"{seed}/{name}/{size}/{load}/{index}"))
                rows.append(ratios_to_static(workload, jobs_of(workload, learnt[index % len(learnt)])))
            print(
                f"rules: {name}, {size} jobs, load {load}: slowdown / static's over {sets} sets: {_means(rows)}"
            )
            everything += rows
    print(f"rules: {name}, all: slowdown / static's: {_means(everything)} (goal at most 1.03)")


def _means(rows: list[dict[str, float]]) -> str:
    return ", ".join(f"{rule} {statistics.mean(row[rule] for row in rows):.3f}" for rule in RULES)


def cpu_ms(call: Callable[[], object], times: int = 5) -> float:
    """The median CPU time."""
    spent = []
    for _ in range(times):
        start = time.process_time()
        call()
        spent.append(time.process_time() - start)
    return 1e3 * statistics.median(spent)


def decisions() -> None:
    """One more job beside 1,000 running ones, and 1,000 jobs announced together, on 1,008 OSTs."""
    running, job = large_site()
    waiting = [replace(one, resources=()) for one in running]
    for name in ALLOCATORS:
        beside = SiteScene(1008, 18688, running, rule=Rule(name))
        empty = replace(beside, running=())
        one = cpu_ms(partial(advise, beside, job))
        every = cpu_ms(partial(advise_together, empty, waiting), 3)
        goal = 1000 if name in ("mckp", "tcpu") else 100
        print(
            f"rules: {name}: one decision beside 1,000 jobs on 1,008 OSTs {one:.0f} ms of CPU (goal {goal}); "
            f"1,000 jobs announced together {every:.0f} ms"
        )


def week(jobs: int = 20_000) -> None:
    """A week of jobs on 64 OSTs, with and without us."""
    curves = {f"app{index}": FAMILIES[name].curve(16, 1e9) for index, name in enumerate(FAMILIES)}
    applications = [
        ApplicationSection(
            match=name,
            io=5e11,
            bandwidth={str(n): value for n, value in zip(curve.counts, curve.bytes_per_s, strict=True)},
        )
        for name, curve in curves.items()
    ]
    platform = PlatformSection(resources=64, compute_nodes=2000)
    site = SiteSection(platform=platform, application=applications)
    made = generate_trace(TracePlan(jobs, 7.0, 2000, tuple(curves)), Random(1))
    for name in ("idle-nodes", "balance", "tcpu"):
        start, start_cpu = time.perf_counter(), time.process_time()
        matched = match_trace(made, site, Path(), 1)
        plays = [play_rule(matched, platform, rule, 1) for rule in (None, Rule(name))]
        spent, cpu = time.perf_counter() - start, time.process_time() - start_cpu
        print(
            f"rules: a week of {jobs} jobs with and without {name} in {cpu:.0f} s of CPU, {spent:.0f} s (goal 120); "
            f"mean slowdown {_mean(plays[0])} -> {_mean(plays[1])}"
        )


def _mean(replayed: Replayed) -> str:
    return f"{replayed.mean_slowdown:.2f}"


def learned(sets: int, seed: int, data: Path) -> None:
    """Both goals of learned curves, on every data set that is there."""
    sources: dict[str, Callable[[], Source]] = {
        "osts": lambda: ost_runs(data),
        "applications": lambda: application_runs(data),
        "io-nodes": lambda: io_node_runs(data, points=False),
        "io-nodes, half of the counts": lambda: io_node_runs(data, points=True),
    }
    if not data.is_dir():
        print(f"rules: learned curves need {data}, which is not there")
        return
    for name, read in sources.items():
        source = read()
        choices(name, source, 10, seed)
        slowdowns(name, source, sets, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("counts", "learned", "decision", "week"))
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "counts": lambda: equal_counts(options.sets, options.seed),
        "decision": decisions,
        "week": week,
        "learned": lambda: learned(options.sets, options.seed, options.data),
    }
    for name, part in parts.items():
        if options.part in (None, name):
            part()


if __name__ == "__main__":
    main()
