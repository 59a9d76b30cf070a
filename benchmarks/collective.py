"""Real collective writes: the hybrid's choice against no hints, the fixed rule, pure learning and chance.

One launch a rank count: first a profile, then every candidate of every instance, interleaved. Candidates are
chosen on the even repetitions and scored on the odd ones. Prints Markdown; takes minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from benchmarks.collective_study.bgq_study import SIGMAS, rank_correlation
from benchmarks.collective_study.compare import METHODS, Instance, Score, geomean, score_all
from benchmarks.collective_study.noise import NoiseStudy, profile_study

from penstock.config import validate
from penstock.plan.collective.access import Access
from penstock.plan.collective.candidates import Candidate, candidates
from penstock.plan.collective.confirm import HintBench, HintTrial, gain, surely_faster, try_all
from penstock.plan.collective.launch import find_launcher
from penstock.plan.collective.operation_profile import Measuring, OperationProfile, measure
from penstock.plan.collective.predictor import forecast
from penstock.plan.collective.surrogates import Surrogates, choose
from penstock.units import KIB, MIB, format_size

# Strided instances: ranks, bytes a rank, block.
INSTANCES = (
    (4, 64 * KIB, 4 * KIB),
    (4, 512 * KIB, 16 * KIB),
    (4, 2 * MIB, 32 * KIB),
    (4, 4 * MIB, 16 * KIB),
    (4, 8 * MIB, 64 * KIB),
    (6, 1 * MIB, 16 * KIB),
    (8, 256 * KIB, 4 * KIB),
    (8, 2 * MIB, 64 * KIB),
    (4, 16 * MIB, 128 * KIB),
    (6, 4 * MIB, 64 * KIB),
    (8, 4 * MIB, 32 * KIB),
    (8, 8 * MIB, 256 * KIB),
)
BUFFERS = (256 * KIB, MIB, 4 * MIB, 16 * MIB)


def worth_running(access: Access) -> list[Candidate]:
    """All aggregator counts with every other buffer size: the space a person would sweep."""
    return [
        option
        for option in candidates(access)
        if option.name in {"none", "rule"} or option.hints.cb_buffer_size in BUFFERS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, default=None, help="target directory (default: a temporary one)")
    parser.add_argument("--repetitions", type=int, default=24)
    parser.add_argument("--launcher", help="how to start MPI, such as 'mpiexec -bind-to core -n {ranks}'")
    parser.add_argument("--save", type=Path, help="keep the raw seconds here as JSON")
    parser.add_argument("--load", type=Path, help="report on a saved file again instead of measuring")
    arguments = parser.parse_args()
    surrogates, found = _loaded(arguments.load) if arguments.load else _measured(arguments)
    if arguments.save:
        arguments.save.write_text(_raw_text(surrogates, found))
    report(surrogates, found)
    noise(surrogates, found)


def _measured(arguments: argparse.Namespace) -> tuple[Surrogates, list[Instance]]:
    with tempfile.TemporaryDirectory() as temporary:
        home = arguments.dir or Path(temporary)
        launcher = find_launcher(arguments.launcher)
        started = time.monotonic()
        ranks = tuple(sorted({instance[0] for instance in INSTANCES}))
        surrogates = Surrogates(choose(measure(launcher, Measuring(home, ranks), print)))
        print(f"profile of {len(ranks)} rank counts: {time.monotonic() - started:.0f} s", flush=True)
        found = []
        for ranks_now, size, block in INSTANCES:
            access = Access(ranks_now, 1, size, block)
            print(f"running {ranks_now} ranks x {format_size(size)} in {format_size(block)}", flush=True)
            bench = HintBench(launcher, home, arguments.repetitions, limit_s=math.inf)
            found.append(Instance(access, tuple(try_all(bench, access, worth_running(access)))))
    return surrogates, found


def report(surrogates: Surrogates, found: list[Instance]) -> None:
    print("\n| operation | surrogate | R2 | RMSE, s |\n|---|---|---|---|")
    for choice in surrogates.choices.values():
        print(f"| {choice.operation} | {choice.algorithm} | {choice.r2:.2f} | {choice.rmse_s:.2e} |")
    scores = score_all(surrogates, found)
    print("\nSpeedup over no hints, and the candidate chosen (aggregators x buffer):\n")
    print("| instance | " + " | ".join(METHODS) + " |")
    print("|---" * (1 + len(METHODS)) + "|")
    for instance, row in zip(found, scores, strict=True):
        cells = [f"{row[m].speedup:.2f} ({row[m].choice}{' WORSE' if row[m].worse else ''})" for m in METHODS]
        print(f"| {_name(instance)} | " + " | ".join(cells) + " |")
    means = {method: geomean([row[method].speedup for row in scores]) for method in METHODS}
    print("| geomean | " + " | ".join(f"{means[method]:.3f}" for method in METHODS) + " |")
    for method in ("advice", "hybrid"):
        worse = sum(row[method].worse for row in scores)
        print(
            f"\n{method}: {means[method] / means['rule']:.3f} of the rule, {means[method] / means['ml']:.3f} of ml, "
            f"measurably worse than no hints in {worse} of {len(scores)}"
        )
        print(
            f"{method} differs from the rule and is measurably faster: {_wins(found, scores, method) or 'never'}"
        )
    accuracy(surrogates, found)


def _wins(found: list[Instance], scores: list[dict[str, Score]], method: str) -> str:
    won = []
    for instance, row in zip(found, scores, strict=True):
        trials = {trial.candidate.name: trial for trial in instance.half(1)}
        chosen, rule = trials[row[method].choice], trials["rule"]
        if chosen is not rule and surely_faster(chosen, rule):
            won.append(f"{_name(instance)} ({row[method].choice}, {gain(chosen, rule):.2f}x)")
    return "; ".join(won)


def accuracy(surrogates: Surrogates, found: list[Instance]) -> None:
    print("\nForecast over measured median, by instance: all candidates' middle, least and most; order\n")
    print(
        "| instance | middle | least | most | rank correlation | spread of runs |\n|---|---|---|---|---|---|"
    )
    for instance in found:
        medians = np.array([trial.median_s for trial in instance.trials])
        options = [trial.candidate.hints for trial in instance.trials]
        forecasts = np.array([one.seconds for one in forecast(surrogates, instance.access, options)])
        ratios = forecasts / medians
        spread = statistics.median(_spread(trial.seconds) for trial in instance.trials)
        print(
            f"| {_name(instance)} | {np.median(ratios):.2f} | {ratios.min():.2f} | {ratios.max():.2f} "
            f"| {rank_correlation(forecasts, medians):.2f} | {spread:.0%} |"
        )


def _spread(seconds: tuple[float, ...]) -> float:
    low, middle, high = statistics.quantiles(seconds, n=4)
    return (high - low) / middle


def _name(instance: Instance) -> str:
    access = instance.access
    return f"{access.ranks} x {format_size(access.bytes_per_rank)} in {format_size(access.block_bytes)}"


def noise(surrogates: Surrogates, found: list[Instance]) -> None:
    print("\nNoise in the profile: how like the clean ranking, and what the choice costs\n")
    print("| sigma | medians of seven: correlation, cost | single times: correlation, cost |\n|---|---|---|")
    accesses = [one.access for one in found]
    studies = [
        profile_study(surrogates.profile, accesses, SIGMAS, NoiseStudy(3, measurements))
        for measurements in (7, 1)
    ]
    for median, single in zip(*studies, strict=True):
        cells = [f"{row.rank_correlation:.3f}, {row.regret:.3f}" for row in (median, single)]
        print(f"| {median.sigma:g} | {cells[0]} | {cells[1]} |")


def _raw_text(surrogates: Surrogates, found: list[Instance]) -> str:
    rows = [
        {
            "ranks": one.access.ranks,
            "bytes_per_rank": one.access.bytes_per_rank,
            "block_bytes": one.access.block_bytes,
            "seconds": {
                trial.candidate.name: [float(f"{taken:.5g}") for taken in trial.seconds]
                for trial in one.trials
            },
        }
        for one in found
    ]
    profile = surrogates.profile.model_copy(update={"directory": "."})
    return json.dumps({"profile": profile.model_dump(), "instances": rows}) + "\n"


def _loaded(path: Path) -> tuple[Surrogates, list[Instance]]:
    document = json.loads(path.read_text())
    found = []
    for row in document["instances"]:
        access = Access(row["ranks"], 1, row["bytes_per_rank"], row["block_bytes"])
        options = {option.name: option for option in candidates(access)}
        trials = tuple(HintTrial(options[name], tuple(seconds)) for name, seconds in row["seconds"].items())
        found.append(Instance(access, trials))
    return Surrogates(choose(validate(document["profile"], OperationProfile, str(path)))), found


if __name__ == "__main__":
    main()
