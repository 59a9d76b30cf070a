"""Speed of scheduling: exact against time-stepped simulation, many sets, and one advice on a large system.

Prints one line per figure with its target. Usage: schedule.py [--sets N] [--jobs N]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from penstock.campaign.engines import local_engine
from penstock.campaign.shards import in_order
from penstock.schedule.advice import SiteScene, advise
from penstock.schedule.application import ApplicationSet
from penstock.schedule.family import FAMILIES, family_profiles
from penstock.schedule.generator import Scenario, generate
from penstock.schedule.job import Job
from penstock.schedule.placement import Placement
from penstock.schedule.plan import allocate, place
from penstock.schedule.simulation import simulate

ERROR = 0.001
APPLICATIONS = 60
GIB = 1 << 30
PROFILES = family_profiles()


def scheduled(index: int, load: float = 0.5) -> tuple[ApplicationSet, Placement]:
    rng = Random(index)
    workload = generate(Scenario(APPLICATIONS, load), PROFILES, rng)
    return workload, place(workload, allocate(workload, "tcpu", rng), "greedy-non-clairvoyant", rng)


def best_of(times: int, workload: ApplicationSet, placement: Placement, step_s: float | None) -> float:
    spent = []
    for _ in range(times):
        start = time.process_time()
        simulate(workload, placement, "all", step_s)
        spent.append(time.process_time() - start)
    return min(spent)


def exact_against_stepped(sets: int = 4) -> None:
    """The step is halved until the stepped run's slowdowns are within ERROR of the exact ones on average."""
    cases = [scheduled(index) for index in range(sets)]
    exact = [simulate(*case) for case in cases]
    step_s = 2.0
    error = 1.0
    while error > ERROR:
        step_s /= 2
        ratios = [
            abs(simulate(*case, "all", step_s).mean_io_slowdown / outcome.mean_io_slowdown - 1)
            for case, outcome in zip(cases, exact, strict=True)
        ]
        error = sum(ratios) / sets
    fast = sum(best_of(5, *case, None) for case in cases) / sets
    slow = sum(best_of(2, *case, step_s) for case in cases) / sets
    print(
        f"schedule: exact {1e3 * fast:.2f} ms, stepped {1e3 * slow:.1f} ms at step {step_s:g} s "
        f"(mean error {100 * error:.3f} %; the exact run has none): {slow / fast:.0f}x (target 100x)"
    )


def slowdowns(sets: range) -> tuple[float, float]:
    """The sum over some sets, and the CPU seconds they took."""
    start = time.process_time()
    total = sum(
        simulate(*scheduled(index, load=0.1 + 0.9 * (index % 100) / 100), "first").mean_io_slowdown
        for index in sets
    )
    return total, time.process_time() - start


def many_sets(sets: int, jobs: int) -> None:
    chunk = 100
    start = time.perf_counter()
    with local_engine(jobs, "spawn") as engine:
        chunks = [range(first, min(first + chunk, sets)) for first in range(0, sets, chunk)]
        total, cpu = map(sum, zip(*in_order(engine, slowdowns, chunks), strict=True))
    spent = time.perf_counter() - start
    print(
        f"schedule: {sets} sets of {APPLICATIONS} applications generated, allocated, placed and played "
        f"in {spent:.1f} s on {jobs} processes ({cpu:.1f} s of CPU), mean slowdown {total / sets:.4f} "
        f"(target 10000 in 300 s)"
    )


def large_site(jobs: int = 1000, osts: int = 1008) -> tuple[list[Job], Job]:
    rng = Random(1)
    running = []
    for index in range(jobs):
        count = rng.choice((1, 2, 4, 8, 16))
        curve = FAMILIES[rng.choice(list(FAMILIES))].curve(32, rng.uniform(0.2, 2) * GIB)
        ids = tuple(sorted(rng.sample(range(osts), count)))
        name, nodes, volume = f"job{index}", rng.randint(1, 32), rng.uniform(0.1, 20) * 1024 * GIB
        running.append(Job(name, nodes, rng.uniform(600, 86400), volume, curve, resources=ids))
    curve = FAMILIES["ascent"].curve(32, 1.0 * GIB)
    return running, Job("next", 256, 7200.0, 5e12, curve, directory="/scratch/next")


def one_advice() -> None:
    running, job = large_site()
    start = time.perf_counter()
    advice = advise(SiteScene(1008, 18688, running), job)
    spent = time.perf_counter() - start
    print(
        f"schedule: advice for 1000 jobs on 1008 OSTs in {1e3 * spent:.1f} ms: {len(advice.resources)} OSTs"
    )
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder, "site.toml")
        site.write_text(site_text(running), encoding="utf-8")
        start = time.perf_counter()
        command = [sys.executable, "-m", "penstock", "schedule", "advise", str(site), "--json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        spent = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    print(
        f"schedule: the same through the command line, site file included: {spent:.2f} s, "
        f"of which {cpu:.2f} s on the CPU (target 1 s)"
    )


def site_text(running: list[Job]) -> str:
    lines = ['[platform]\nkind = "ost"\nresources = 1008\ncompute_nodes = 18688\nfsname = "atlas"']
    job = '[[running]]\nname = "{}"\ncompute_nodes = {}\ncompute = {:.1f}\nio = {:.0f}\nresources = {}'
    for one in running:
        assert one.curve is not None and one.compute_s is not None and one.io_bytes is not None
        about = (one.name, one.compute_nodes, one.compute_s, one.io_bytes, list(one.resources))
        lines.append(job.format(*about))
        lines.append(f'family = "ascent"\nfamily_bandwidth = {one.curve.at(1):.0f}')
    lines.append('[next]\nname = "next"\ncompute_nodes = 256\ncompute = "2h"\nio = "5TB"')
    lines.append('family = "ascent"\nfamily_bandwidth = "1GiB"\ndirectory = "/scratch/next"')
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    simulate(*scheduled(0))
    exact_against_stepped()
    one_advice()
    many_sets(options.sets, options.jobs)


if __name__ == "__main__":
    main()
