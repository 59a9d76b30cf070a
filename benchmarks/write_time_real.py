"""The write-time study on other people's measurements: IOR on four storage systems, and a year of Mira-FS1.

Reads ../shared/data/ior-scaling (IOR runs of the spm project; NERSC's tokio-abc runs on Mira-FS1), which is
not part of this project. Prints Markdown tables and writes PNG figures.

    ./run bench write_time_real --out docs/explanation/write-time
    ./run bench write_time_real --goals --up-to 8 --shortest 1
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from benchmarks.write_time_study import plots
from benchmarks.write_time_study.tables import concatenate

from penstock.plan.storage import flat_system, load_system
from penstock.plan.write import error_plots
from penstock.plan.write.accuracy import Accuracy, measure
from penstock.plan.write.contributions import linear_terms
from penstock.plan.write.convergence import ConvergenceRule
from penstock.plan.write.fitted import FittedModel, fit_model
from penstock.plan.write.fitting import judge, model_of, score
from penstock.plan.write.gather import gather
from penstock.plan.write.ior_results import Assumed, IorRun, read_runs
from penstock.plan.write.location import locate
from penstock.plan.write.pattern import WritePattern
from penstock.plan.write.published import published_model
from penstock.plan.write.scale_search import search
from penstock.plan.write.techniques import DEFAULTS
from penstock.plan.write.write_samples import WriteSamples
from penstock.units import MIB

Floats = npt.NDArray[np.float64]
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "ior-scaling"
STORAGE = ("beegfs", "nfs", "ssd", "tmpfs")
LARGEST_TRAINING_NODES = 8
SHORTEST_S = 1.0
WEEK_S = 7 * 86400
FEWEST = 16


@dataclass(frozen=True)
class Benchmark:
    """One program run daily on Mira-FS1: when, and how long its write took."""

    name: str
    times: tuple[tuple[float, float], ...]


def read_ior(path: Path, operation: str) -> dict[str, list[IorRun]]:
    """Successful runs of any transfer size, with the bytes they really moved, by storage system."""
    return {
        name: read_runs(path, Assumed(where=(("storageType", name),), operation=operation))
        for name in STORAGE
    }


def samples_of(runs: Sequence[IorRun]) -> WriteSamples:
    """All samples, short ones included."""
    return gather(runs, flat_system("flat", 32, 256), "scattered", ConvergenceRule())


TECHNIQUES = ("lasso", "forest", "stack")


def scaling(
    storage: Mapping[str, WriteSamples], operation: str, out: Path, techniques: Sequence[str]
) -> None:
    """Train on up to 8 nodes, test on 16 and 32; every choice is made on the training scales."""
    print(f"\n#### {operation}s: trained on 1 to 8 nodes, tested on 16 and 32 (real measurements)\n")
    print("| storage | technique | held-out patterns: samples, within 20 % / 30 %, median error, held "
          "| held-out larger scales | 16 and 32 nodes, converged | all of 16 and 32 nodes |")  # fmt: skip
    print("|---|---|---|---|---|---|")
    panels: dict[str, dict[str, tuple[Floats, Floats]]] = {}
    for name, everything in storage.items():
        measured = everything.take(everything.nodes <= LARGEST_TRAINING_NODES)
        small = measured.long_enough(SHORTEST_S)
        large = everything.take(everything.nodes > LARGEST_TRAINING_NODES).long_enough(SHORTEST_S)
        for technique in techniques:
            judged = judge(small, search(small, technique), 0)
            model = model_of(small, judged, measured)
            parts = [judged.inside, judged.beyond]
            parts += [score(model, part) for part in (large.take(large.converged), large)]
            found = " | ".join("-" if part is None else cells(part, ", ") for part in parts)
            print(f"| {name} | {technique} | {found} |", flush=True)
            if technique != "lasso" and len(large) > 5:
                panels.setdefault(name, {})[technique] = (large.seconds, model.predict_samples(large))
    title = f"IOR {operation}s on 16 and 32 nodes, models trained on 1 to 8 nodes"
    plots.predicted_against_measured(panels, out / f"real-scaling-{operation}.png", title)


# The aims: shares within 20 %, and what 80 % intervals should hold.
WITHIN_AIM = {"beegfs": 0.45, "ssd": 0.40}
HELD_AIM = (0.75, 0.90)


def goal_row(name: str, operation: str, model: FittedModel, found: Accuracy) -> str:
    """One line of the table of aims: what was asked, answered, met and held."""
    reach = model.support.limit(max(model.samples.scales))
    begin = f"| {operation}s, {name} | {reach} | {found.samples} of {found.samples + found.refused} |"
    if not found.samples:
        return f"{begin} - | - | refuses: {model.support.reason} |"
    held = found.held if found.held is not None else float("nan")
    least = WITHIN_AIM.get(name, 0.0)
    kept = "yes" if HELD_AIM[0] <= held <= HELD_AIM[1] else "no"
    met = "-" if not least else "yes" if found.within_20 >= least else "no"
    return f"{begin} {found.within_20:.0%} (aim met: {met}) | {held:.0%} (in 75 to 90 %: {kept}) | |"


def goals(storage: Mapping[str, WriteSamples], operation: str, limit: int, shortest_s: float) -> None:
    """The stack as `plan fit --technique stack --train-up-to LIMIT --shortest S` fits it, on all larger runs."""
    for name, everything in storage.items():
        measured = everything.take(everything.nodes <= limit)
        small = measured.long_enough(shortest_s)
        large = everything.take(everything.nodes > limit).long_enough(shortest_s)
        if len(small) < FEWEST or not len(large):
            print(f"| {operation}s, {name} | - | too few samples | - | - | |")
            continue
        judged = judge(small, search(small, "stack"), 0)
        model = model_of(small, judged, measured)
        print(goal_row(name, operation, model, score(model, large)), flush=True)


def cells(found: Accuracy, between: str = " | ") -> str:
    if not found.samples:
        return f"{found.refused} refused"
    within = f"{100 * found.within_20:.0f} / {100 * found.within_30:.0f}"
    some = "" if found.intervals in (None, found.samples) else f" of {found.intervals}"
    held = () if found.held is None else (f"{found.held:.0%}{some}",)
    refused = (f"{found.refused} refused",) if found.refused else ()
    return between.join((str(found.samples), within, f"{found.median_error:+.0%}", *held, *refused))


def leading_features(storage: Mapping[str, WriteSamples]) -> None:
    print("\n#### What the lasso says the time depends on (all scales)\n")
    print("| storage | largest mean contributions |\n|---|---|")
    for name, samples in storage.items():
        settled = samples.take(samples.converged)
        model = fit_model("lasso", "lasso", DEFAULTS["lasso"], settled)
        print(f"| {name} | {strongest(model, settled)} |")


def strongest(model: FittedModel, samples: WriteSamples) -> str:
    _, slopes = linear_terms(model.pipeline)
    shares = (slopes * samples.matrix(model.features)).mean(axis=0)
    order = np.argsort(-np.abs(shares))[:3]
    return ", ".join(f"`{model.features[place]}` {shares[place]:+.1f} s" for place in order)


def leave_one_out(storage: Mapping[str, WriteSamples]) -> None:
    print("\n#### Leave one storage system out (real measurements)\n")
    print("| tested on | technique | samples | within 20 % / 30 % | median error |\n|---|---|---|---|---|")
    for name, samples in storage.items():
        others = concatenate([part for other, part in storage.items() if other != name])
        for technique in ("lasso", "forest"):
            model = fit_model(technique, technique, DEFAULTS[technique], others.take(others.converged))
            found = measure(model.predict_samples(samples), samples.seconds)
            print(f"| {name} | {technique} | {cells(found)} |")


def read_mira(path: Path) -> list[Benchmark]:
    """The writing benchmarks of the year, each with the seconds its slowest process took."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            written = float(row["darshan_tot_bytes_written_posix"])
            rate = float(row["darshan_agg_perf_by_slowest_posix"])
            if written < 1e12 or rate <= 0 or float(row["darshan_tot_bytes_read_posix"]) > 0:
                continue
            own = "file per process" if float(row["darshan_num_bytes_written_posix"]) > 1 else "shared file"
            name = f"{Path(row['darshan_app']).name}, {own}, {written / 16384 / 1e6:.0f} MB a process"
            found[name].append((float(row["_datetime_start"]), written / MIB / rate))
    return [Benchmark(name, tuple(sorted(times))) for name, times in found.items() if len(times) > 100]


def variability(benchmarks: Sequence[Benchmark], out: Path) -> None:
    print("\n#### A year of daily runs on Mira-FS1 (real measurements, 1,024 nodes x 16 processes)\n")
    print("| benchmark | runs | median s | 5 to 95 % | slowest / fastest in a week, median | of the year "
          "| runs to converge, median | never within 20 |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|")
    ratios = {}
    for each in benchmarks:
        seconds = np.array([took for _, took in each.times])
        grouped = itertools.groupby(each.times, key=lambda entry: int(entry[0] // WEEK_S))
        weeks = [list(group) for _, group in grouped]
        ratios[each.name] = [
            max(took for _, took in week) / min(took for _, took in week) for week in weeks if len(week) >= 3
        ]
        needed = [runs_needed(seconds[start:]) for start in range(len(seconds) - 20)]
        settled = [count for count in needed if count is not None]
        low, high = np.percentile(seconds, [5, 95])
        print(
            f"| {each.name} | {seconds.size} | {np.median(seconds):.0f} | {low:.0f} to {high:.0f} "
            f"| {np.median(ratios[each.name]):.2f} | {seconds.max() / seconds.min():.1f} "
            f"| {np.median(settled):.0f} | {100 * (1 - len(settled) / len(needed)):.0f} % |"
        )
    error_plots.variability_cdf(
        ratios, out / "variability-mira.png", "Mira-FS1: identical daily runs, week by week"
    )


def runs_needed(seconds: Floats) -> int | None:
    rule = ConvergenceRule()
    for count in range(rule.min_runs, rule.max_runs + 1):
        if rule.converged(list(seconds[:count])):
            return count
    return None


def published_on_mira(benchmarks: Sequence[Benchmark]) -> None:
    """The published Cetus model asked about Mira's file-per-process writes: another machine, same path."""
    print(
        "\n#### The published Cetus model on Mira's runs (an extrapolation: another machine, 1,024 nodes)\n"
    )
    print("| benchmark | measured median s | predicted s, compact | error |\n|---|---|---|---|")
    cetus = load_system("cetus")
    for each in benchmarks:
        if "file per process" in each.name:
            burst = float(each.name.split(", ")[2].split()[0])
            pattern = WritePattern(locate(cetus, 1024, "compact"), 16, round(burst * 1e6), 1)
            (said,) = published_model(cetus).seconds(cetus, [pattern])
            real = float(np.median([took for _, took in each.times]))
            print(f"| {each.name} | {real:.0f} | {said:.0f} | {said / real - 1:+.0%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("write-time"))
    parser.add_argument("--operation", nargs="+", choices=("write", "read"), default=["write", "read"])
    parser.add_argument("--storage", nargs="+", choices=STORAGE, default=list(STORAGE))
    parser.add_argument("--technique", nargs="+", choices=TECHNIQUES, default=list(TECHNIQUES))
    parser.add_argument("--short", action="store_true", help="only the scaling tables")
    parser.add_argument(
        "--goals", action="store_true", help="only the table of aims, for --up-to and --shortest"
    )
    parser.add_argument(
        "--up-to", type=int, default=LARGEST_TRAINING_NODES, help="with --goals: train on these"
    )
    parser.add_argument(
        "--shortest", type=float, default=SHORTEST_S, help="with --goals: seconds of a sample"
    )
    given = parser.parse_args()
    out = given.out
    if not DATA.is_dir():
        sys.exit("write_time_real: shared/data/ior-scaling does not lie beside the project; nothing to study")
    if given.goals:
        print("| | forecasts up to nodes | samples answered | within 20 % | inside the 80 % interval | |")
        print("|---|---|---|---|---|---|")
    else:
        out.mkdir(parents=True, exist_ok=True)
    for operation in given.operation:
        runs = read_ior(DATA / "ior_runs.csv", operation)
        everything = {name: samples_of(found) for name, found in runs.items() if name in given.storage}
        if given.goals:
            goals(everything, operation, given.up_to, given.shortest)
            continue
        storage = {name: samples.long_enough(SHORTEST_S) for name, samples in everything.items()}
        print("\n| storage | " + " | ".join(storage) + " |\n" + "|---" * (len(storage) + 1) + "|")
        counts = [str(len(part)) for part in storage.values()]
        print(f"| {operation}s: samples of at least {SHORTEST_S:g} s | " + " | ".join(counts) + " |")
        shares = [f"{part.converged.mean():.0%}" for part in storage.values()]
        print("| of them converged | " + " | ".join(shares) + " |")
        scaling(everything, operation, out, given.technique)
        if operation == "write" and not given.short:
            leading_features(storage)
            leave_one_out(storage)
    if given.short or given.goals:
        return
    benchmarks = read_mira(DATA / "mira-summaries_2017-02-14_2018-02-15.csv.gz")
    variability(benchmarks, out)
    published_on_mira(benchmarks)


if __name__ == "__main__":
    main()
