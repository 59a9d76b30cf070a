"""Goals of scheduling by rules: equal counts, learned curves, decisions on a large system, and a site's week.

Prints one line per figure with its goal. Counts and the week go through the commands, as a user would give them.
Usage: schedule_rules.py [--part counts|learned|decision|week] [--sets N] [--seed N] [--data DIR]
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.learned_halves import Source, application_runs, io_node_runs, learn_half, ost_runs, true_curve
from benchmarks.schedule import large_site
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.schedule.advice import Rule, SiteScene, advise, advise_together
from penstock.schedule.allocation import ALLOCATORS
from penstock.schedule.application import Application, ApplicationSet, Curve, Phase
from penstock.schedule.belief import Measurement, believe
from penstock.schedule.demand import demands_of
from penstock.schedule.family import FAMILIES, family_profiles
from penstock.schedule.generator import Scenario, generate
from penstock.schedule.job import Job
from penstock.schedule.ledger import Ledger
from penstock.schedule.lifecycle import Desk
from penstock.schedule.plan import allocate
from penstock.schedule.profile import Profile
from penstock.schedule.simulation import play
from penstock.schedule.site import PlatformSection
from penstock.schedule.study.trial import draw_set

LOADS = (0.1, 0.3, 0.5, 0.7, 0.9)
SIZES = (20, 60)
RULES = ("idle-nodes", "balance", "tcpu", "nsys", "mckp", "bestbdw")
IN_TURN = "idle-nodes, one by one"
"""The same jobs, each started before the next is known."""


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


def command(*words: object) -> dict[str, Any]:
    """What `penstock schedule` prints as JSON."""
    done = CliRunner().invoke(cli, ["schedule", *map(str, words), "--json"], catch_exceptions=False)
    if done.exit_code:
        raise RuntimeError(done.stderr)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def equal_counts(sets: int, seed: int) -> None:
    """Jobs announced together against `schedule allocate`, on sets of many shapes, with an empty ledger."""
    equal = dict.fromkeys(ALLOCATORS, 0)
    for index in range(sets):
        rng = Random(f"{seed}/{index}")
        resources = rng.choice((4, 12, 20, 48, 96))
        size = rng.randint(2, 60)
        scenario = Scenario(
            size, rng.uniform(0.02, 0.95) * size / resources, resources, rng.randint(size, 2000)
        )
        workload = generate(scenario, family_profiles(rng.choice((2, 8, 32))), rng)
        with TemporaryDirectory() as folder:
            site, ledger, file = (
                Path(folder, "site.toml"),
                Path(folder, "jobs.jsonl"),
                Path(folder, "set.json"),
            )
            file.write_text(set_text(workload), encoding="utf-8")
            for name in ALLOCATORS:
                site.write_text(announced_text(workload, name), encoding="utf-8")
                found = command("advise", site, "--ledger", ledger, "--seed", index)["allocation"]
                wanted = command("allocate", file, "--allocation", name, "--seed", index)["allocation"]
                equal[name] += found == wanted
    for name, number in equal.items():
        print(f"rules: {name}: counts of {number} of {sets} sets equal schedule allocate's (goal {sets})")


def set_text(workload: ApplicationSet) -> str:
    """The set as `schedule allocate` reads it."""
    applications = [
        {
            "name": one.name,
            "compute_nodes": one.compute_nodes,
            "bandwidth": dict(zip(one.curve.counts, one.curve.bytes_per_s, strict=True)),
            "phases": [{"compute_s": phase.compute_s, "io_bytes": phase.io_bytes} for phase in one.phases],
        }
        for one in workload.applications
    ]
    whole = {"resources": workload.resources, "compute_nodes": workload.compute_nodes}
    return json.dumps({**whole, "applications": applications})


def announced_text(workload: ApplicationSet, rule: str) -> str:
    """A site file that announces the whole set."""
    lines = [
        f"[platform]\nresources = {workload.resources}\ncompute_nodes = {workload.compute_nodes}",
        f'allocation = "{rule}"',
    ]
    for one in workload.applications:
        points = zip(one.curve.counts, one.curve.bytes_per_s, strict=True)
        curve = ", ".join(f"{count} = {value!r}" for count, value in points)
        lines.append(
            f'[[next]]\nname = "{one.name}"\ncompute_nodes = {one.compute_nodes}\n'
            f"compute = {one.compute_s!r}\nio = {one.io_bytes!r}\nbandwidth = {{ {curve} }}"
        )
    return "\n".join(lines) + "\n"


def choices(name: str, source: Source, splits: int, seed: int) -> None:
    """How good the counts are that learned curves choose, how far the curves are from the truth, and their intervals.

    The truth is the mean of all runs. Where the other half has runs on every count, it judges the choice alone too.
    """
    truth = {one: true_curve(runs) for one, runs in source.runs.items()}
    reached, unseen, errors, inside = [], [], [], []
    for index in range(splits):
        half = learn_half(source, Random(f"{seed}/{name}/{index}"))
        for one, learned in half.learned.items():
            own, curve = truth[one], learned.curve
            best = max(curve.counts, key=lambda count: (curve.at(count), -count))
            reached.append(own.at(best) / max(own.bytes_per_s))
            errors += [abs(math.log(curve.at(n) / own.at(n))) for n in own.counts]
            edges = zip(curve.counts, learned.low, learned.high, strict=True)
            inside += [low <= own.at(n) <= high for n, low, high in edges if n in own.counts]
            if set(half.left[one]) == set(own.counts):
                other = true_curve(half.left[one])
                unseen.append(other.at(best) / max(other.bytes_per_s))
    alone = f", {statistics.mean(unseen):.3f} by the other half alone" if unseen else ""
    print(
        f"rules: {name}: learned from half the runs, the chosen count has {statistics.mean(reached):.3f} of the "
        f"best bandwidth (goal 0.93){alone}; bandwidths are off by {100 * math.expm1(statistics.median(errors)):.0f} "
        f"% in the median, {100 * math.expm1(statistics.mean(errors)):.0f} % in the mean; "
        f"{100 * statistics.mean(inside):.0f} % are inside their 90 % intervals"
    )


def ratios_to_static(workload: ApplicationSet, jobs: list[Job]) -> dict[str, float]:
    """The mean slowdown of each rule, which sees `jobs`, over that of `static`, played with the true curves."""
    demands = demands_of(workload)

    def slowdown(placed: Sequence[tuple[int, ...]]) -> float:
        return play(workload, demands, tuple(placed), "first").mean_io_slowdown

    found = {}
    for rule in ("static", *RULES):
        scene = SiteScene(workload.resources, workload.compute_nodes, rule=Rule(rule))
        found[rule] = slowdown([one.resources for one in advise_together(scene, jobs)])
    started: list[Job] = []
    for job in jobs:
        scene = SiteScene(workload.resources, workload.compute_nodes, started)
        started.append(replace(job, resources=advise(scene, job).resources))
    found[IN_TURN] = slowdown([job.resources for job in started])
    return {rule: found[rule] / found["static"] for rule in (*RULES, IN_TURN)}


def slowdowns(name: str, source: Source, sets: int, seed: int) -> None:
    """Rules on learned curves against `static`: at every load, over all, and at the worst point."""
    profiles = tuple(Profile(one, true_curve(runs)) for one, runs in source.runs.items())
    # Ten ways to halve the runs.
    learnt = [learn_half(source, Random(f"{seed}/{name}/{index}")).curves for index in range(10)]
    points = []
    for size in SIZES:
        for load in LOADS:
            rows = []
            for index in range(sets):
                workload, _ = draw_set(profiles, size, load, Random(f"{seed}/{name}/{size}/{load}/{index}"))
                rows.append(ratios_to_static(workload, jobs_of(workload, learnt[index % len(learnt)])))
            points.append(_means(rows))
            print(
                f"rules: {name}, {size} jobs, load {load}: slowdown / static's over {sets} sets: {_told(points[-1])}"
            )
    worst = {rule: max(point[rule] for point in points) for rule in points[0]}
    print(f"rules: {name}, all: slowdown / static's: {_told(_means(points))}")
    print(f"rules: {name}, worst point: slowdown / static's: {_told(worst)} (goal at most 1.03)")


def _means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {rule: statistics.mean(row[rule] for row in rows) for rule in rows[0]}


def _told(ratios: Mapping[str, float]) -> str:
    return ", ".join(f"{rule} {ratio:.2f}" for rule, ratio in ratios.items())


def cpu_ms(call: Callable[[], object], times: int = 5) -> float:
    """The median CPU time."""
    spent = []
    for _ in range(times):
        start = time.process_time()
        call()
        spent.append(time.process_time() - start)
    return 1e3 * statistics.median(spent)


def decisions() -> None:
    """One more job beside 1,000 running ones, with and without the ledger, and 1,000 jobs at once, on 1,008 OSTs."""
    running, job = large_site()
    waiting = [replace(one, resources=()) for one in running]
    applications = tuple(
        Application(one.name, one.compute_nodes, one.curve, (Phase(one.compute_s, one.io_bytes),))
        for one in waiting
        if one.curve is not None and one.compute_s is not None and one.io_bytes is not None
    )
    workload = ApplicationSet(1008, 18688, applications)
    for name in ALLOCATORS:
        beside = SiteScene(1008, 18688, running, rule=Rule(name))
        empty = replace(beside, running=())
        one = cpu_ms(partial(advise, beside, job))
        whole = cpu_ms(partial(allocate, workload, name, Random(1)), 3)
        every = cpu_ms(partial(advise_together, empty, waiting), 3)
        goal = 1000 if name in ("mckp", "tcpu") else 100
        print(
            f"rules: {name}: one decision beside 1,000 jobs on 1,008 OSTs {one:.0f} ms of CPU, all 1,000 at once "
            f"{whole:.0f} ms (goal {goal} each); 1,000 jobs announced together, with reasons, {every:.0f} ms"
        )
    held = SiteScene(1008, 18688, running, rule=Rule(worst_slowdown=3.0))
    belief = believe("unknown", 1008, [Measurement(4, 1e9)])
    unsure = replace(job, curve=belief.curve(), belief=belief)
    print(
        f"rules: idle-nodes: one decision with worst_slowdown {cpu_ms(partial(advise, held, job)):.0f} ms, where the "
        f"curve is uncertain up to 1,008 OSTs {cpu_ms(partial(advise, held, unsure)):.0f} ms (goal 100)"
    )
    with TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder, "jobs.jsonl"))
        desk = Desk(PlatformSection(resources=1008, compute_nodes=18688))
        desk.start_together(waiting, ledger)
        names = iter(range(100))

        def start() -> None:
            number = next(names)
            desk.start(replace(job, name=f"next{number}", directory=f"/scratch/{number}"), ledger)

        print(f"rules: a start recorded in a ledger of 1,000 jobs {cpu_ms(start):.0f} ms (goal 100)")


WEEK = """[platform]
resources = 64
compute_nodes = 2000
family_limit = 16
allocation = "{rule}"
"""


def week(jobs: int, seed: int) -> None:
    """A week of jobs on 64 OSTs, with and without us: generated, read, replayed twice, and made a page."""
    kinds = [
        f'[[application]]\nmatch = "app{index}"\nio = 5e11\nfamily = "{name}"\nfamily_bandwidth = 1000000000\n'
        for index, name in enumerate(FAMILIES)
    ]
    with TemporaryDirectory() as folder:
        site, trace = Path(folder, "site.toml"), Path(folder, "trace.txt")
        for rule in ALLOCATORS:
            site.write_text(WEEK.format(rule=rule) + "\n".join(kinds), encoding="utf-8")
            if not trace.exists():
                command("generate", "--site", site, "--jobs", jobs, "--seed", seed, "--out", trace)
            start, start_cpu = time.perf_counter(), time.process_time()
            before, after = command("study", "--site", site, "--trace", trace, "--out", folder)["rules"]
            spent, cpu = time.perf_counter() - start, time.process_time() - start_cpu
            print(
                f"rules: a week of {jobs} jobs with and without {rule} in {cpu:.0f} s of CPU, {spent:.0f} s (goal "
                f"120); mean slowdown {before['mean_slowdown']:.2f} -> {after['mean_slowdown']:.2f}, idle nodes "
                f"{before['idle_nodes']:.0f} -> {after['idle_nodes']:.0f}"
            )


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
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "counts": lambda: equal_counts(options.sets, options.seed),
        "decision": decisions,
        "week": lambda: week(options.jobs, options.seed),
        "learned": lambda: learned(options.sets, options.seed, options.data),
    }
    for name, part in parts.items():
        if options.part in (None, name):
            part()


if __name__ == "__main__":
    main()
