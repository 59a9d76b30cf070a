"""Advice for collective writes, proved with a program that knows nothing of Penstock.

For every instance `plan collective --confirm 3` gives its advice. The best of a 3 x 3 grid of aggregators and buffers
is chosen in runs of its own. Then the program runs in rounds: without hints, with the fixed rule, with the advice and
with the grid's best, in a new order each round. Ratios are taken within a round, so what slows one slows all.

    ./run bench collective_pairs --dir /dev/shm /scratch/me --busy 0 2 --out pairs.json
    ./run bench collective_pairs --dir /scratch/me --only 3 4 --out pairs-disk.json --note "both cores busy"

Every directory is measured in every state of load: `--busy 0` adds none (at rest, where nobody else is there),
`--busy 4` adds four processes that want the cores. `--only 0 1 2` takes some of the instances, `--limit` shortens the
confirming runs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.collective_study.compare import geomean

from penstock.plan.collective.access import Access
from penstock.plan.collective.advise import HintAdvice, advise, confirm
from penstock.plan.collective.candidates import fixed_rule
from penstock.plan.collective.confirm import HintBench
from penstock.plan.collective.launch import THREAD_LEVELS, Launcher, find_launcher
from penstock.plan.collective.operation_profile import Measuring, measure
from penstock.plan.collective.outputs import environment
from penstock.plan.collective.paired import RunPair, judge_pairs
from penstock.plan.collective.romio import NO_HINTS, Hints, two_phase
from penstock.plan.collective.surrogates import Surrogates, choose
from penstock.plan.hints import hints_file
from penstock.units import KIB, MIB, format_size

PROGRAM = Path(__file__).with_name("collective_job.py")
# Strided instances: ranks, bytes a rank, block.
INSTANCES = (
    (2, 1 * MIB, 16 * KIB),
    (2, 4 * MIB, 64 * KIB),
    (2, 16 * MIB, 128 * KIB),
    (4, 512 * KIB, 16 * KIB),
    (4, 2 * MIB, 64 * KIB),
)
ROUNDS = 20
GRID_BUFFERS = (MIB, 4 * MIB, 16 * MIB)
GRID_ROUNDS = 2
# Ends by itself when the benchmark is gone, however that ended.
BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"


@dataclass(frozen=True, slots=True)
class Program:
    """The program for one access: how it is started and where it writes."""

    access: Access
    launcher: Launcher
    home: Path
    iterations: int

    def seconds(self, hints: Hints) -> float:
        """One start of the program; the median of the times it prints, its first write aside."""
        access = self.access
        segments = access.bytes_per_rank // access.block_bytes
        shape = ["-b", str(access.block_bytes), "-s", str(segments), "-V", "-i", str(self.iterations + 1)]
        command = [*self.launcher.argv(access.ranks), sys.executable, str(PROGRAM), *shape]
        with tempfile.TemporaryDirectory(dir=self.home) as directory:
            path = Path(directory, "hints")
            path.write_text(hints_file(hints.given))
            added = environment(hints.given, path) if hints.given else {}
            added["THREAD_LEVEL"] = self.launcher.thread_level
            command += ["-o", str(Path(directory, "out"))]
            ended = subprocess.run(
                command, env={**os.environ, **added}, capture_output=True, text=True, check=True
            )
        return statistics.median(float(line.split()[1]) for line in ended.stdout.splitlines()[1:])


def interleaved(
    program: Program, arms: Mapping[str, Hints], rounds: int, seed: int
) -> dict[str, list[float]]:
    """Every arm once a round; arms with the same hints share their runs."""
    rng = random.Random(seed)
    distinct = list(dict.fromkeys(arms.values()))
    taken: dict[Hints, list[float]] = {hints: [] for hints in distinct}
    for _ in range(rounds):
        rng.shuffle(distinct)
        for hints in distinct:
            taken[hints].append(program.seconds(hints))
    return {name: taken[hints] for name, hints in arms.items()}


def best_of_grid(program: Program, seed: int) -> Hints:
    ranks = program.access.ranks
    grid = {
        f"{count}x{size}": two_phase(count, size, program.access)
        for count in (1, ranks // 2, ranks)
        for size in GRID_BUFFERS
    }
    found = interleaved(program, grid, GRID_ROUNDS, seed)
    return grid[min(found, key=lambda name: statistics.fmean(found[name]))]


def compare(program: Program, advice: HintAdvice, rounds: int, seed: int) -> dict[str, Any]:
    """One instance: who chose what, every round's seconds, and the verdict on the advice."""
    arms = {
        "none": NO_HINTS,
        "rule": fixed_rule(program.access),
        "advice": advice.chosen.candidate.hints if advice.chosen else NO_HINTS,
        "grid": best_of_grid(program, seed),
    }
    seconds = interleaved(program, arms, rounds, seed + 1)
    pairs = [RunPair(*both, False) for both in zip(seconds["none"], seconds["advice"], strict=True)]
    access = program.access
    return {
        "instance": f"{access.ranks} x {format_size(access.bytes_per_rank)} in {format_size(access.block_bytes)}",
        "reasons": list(advice.reasons),
        "confirmed": {trial.candidate.name: len(trial.seconds) for trial in advice.trials},
        "hints": {name: _short(hints) for name, hints in arms.items()},
        "seconds": {name: [float(f"{taken:.4g}") for taken in each] for name, each in seconds.items()},
        "speedup": {name: _speedup(seconds["none"], seconds[name]) for name in arms},
        "verdict": judge_pairs(pairs).verdict if advice.chosen else "no hints",
    }


def _short(hints: Hints) -> str:
    return f"{hints.cb_nodes} x {format_size(hints.cb_buffer_size or 0)}" if hints.given else "none"


def _speedup(plain: list[float], hinted: list[float]) -> float:
    return round(statistics.median(a / b for a, b in zip(plain, hinted, strict=True)), 3)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Others that want the cores."""
    running = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def study(given: argparse.Namespace, home: Path) -> Iterator[dict[str, Any]]:
    launcher = find_launcher(given.launcher, given.thread_level)
    ranks = tuple(sorted({INSTANCES[number][0] for number in given.only}))
    surrogates = Surrogates(choose(measure(launcher, Measuring(home, ranks), _say)))
    for number in given.only:
        shape = INSTANCES[number]
        access = Access(shape[0], 1, *shape[1:])
        bench = HintBench(launcher, home, seed=number, limit_s=given.limit)
        advice = confirm(advise(surrogates, access), bench, 3)
        yield compare(Program(access, launcher, home, given.iterations), advice, given.rounds, number)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    means = {arm: round(geomean([row["speedup"][arm] for row in rows]), 3) for arm in rows[0]["speedup"]}
    return {
        "geomean": means,
        "advice_vs_rule": round(means["advice"] / means["rule"], 3),
        "advice_vs_grid": round(means["advice"] / means["grid"], 3),
        "worse": [row["instance"] for row in rows if row["verdict"] == "slower"],
    }


def over_all(cases: list[dict[str, Any]]) -> float:
    """The advice against the fixed rule: the geometric mean over directories and states of load."""
    return round(geomean([case["summary"]["advice_vs_rule"] for case in cases]), 3)


def measure_case(given: argparse.Namespace, place: Path, processes: int) -> dict[str, Any]:
    """One directory in one state of load: conditions, summary and every instance."""
    rows = []
    with tempfile.TemporaryDirectory(dir=place) as directory, busy(processes):
        before = os.getloadavg()[0]
        for row in study(given, Path(directory)):
            rows.append(row)
            _say(json.dumps({key: row[key] for key in ("instance", "hints", "speedup", "verdict")}))
    return {
        "note": given.note,
        "storage": file_system(place),
        "thread_level": given.thread_level,
        "busy": processes,
        "load_before": round(before, 1),
        "load_after": round(os.getloadavg()[0], 1),
        "summary": summary(rows),
        "rows": rows,
    }


def file_system(place: Path) -> str:
    """The kind of file system a directory lies on, such as tmpfs or ext4."""
    mounts = [line.split()[1:3] for line in Path("/proc/self/mounts").read_text("utf-8").splitlines()]
    inside = [(mount, kind) for mount, kind in mounts if place.resolve().is_relative_to(mount)]
    return max(inside, key=lambda one: len(one[0]))[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, nargs="+", required=True, help="where the program writes")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--launcher", help="how to start MPI, such as 'mpiexec -bind-to core -n {ranks}'")
    parser.add_argument("--thread-level", choices=THREAD_LEVELS, default="single", help="the program's")
    parser.add_argument(
        "--busy", type=int, nargs="+", default=[0], help="processes that want the cores besides"
    )
    everyone = range(len(INSTANCES))
    parser.add_argument("--only", type=int, nargs="+", choices=everyone, default=everyone, help="instances")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--limit", type=float, default=120.0, help="seconds for an instance's confirming runs"
    )
    parser.add_argument("--iterations", type=int, default=6, help="writes a start, besides the first")
    parser.add_argument("--note", default="", help="the conditions, in words")
    given = parser.parse_args()
    cases = []
    for place, processes in product(given.dir, given.busy):
        cases.append(measure_case(given, place, processes))
        given.out.write_text(json.dumps({"cases": cases}, indent=1) + "\n")
        shown = {key: cases[-1][key] for key in ("storage", "busy", "load_before", "load_after", "summary")}
        print(json.dumps(shown, indent=1), flush=True)
    print(json.dumps({"advice_vs_rule_over_all_cases": over_all(cases)}))


if __name__ == "__main__":
    main()
