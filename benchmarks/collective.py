"""Real collective writes: the hybrid's choice against no hints, the fixed rule, pure learning and chance.

One launch a rank count: first a profile, then every candidate of every instance, interleaved. Candidates are
chosen on the even repetitions and scored on the odd ones. Prints Markdown; takes minutes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from penstock.config import validate
from penstock.plan.collective.access import Access
from penstock.plan.collective.bgq_study import SIGMAS
from penstock.plan.collective.candidates import Candidate, candidates
from penstock.plan.collective.compare import METHODS, Instance, geomean, score_all
from penstock.plan.collective.confirm import Bench, Trial, try_all
from penstock.plan.collective.launch import find_launcher
from penstock.plan.collective.noise import profile_study
from penstock.plan.collective.profile import Measuring, Profile, measure, save_text
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
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--save", type=Path, help="keep the raw seconds here as JSON")
    parser.add_argument("--load", type=Path, help="report on a saved file again instead of measuring")
    arguments = parser.parse_args()
    surrogates, found = (
        _loaded(arguments.load) if arguments.load else _measured(arguments.dir, arguments.repetitions)
    )
    if arguments.save:
        arguments.save.write_text(json.dumps(_raw(surrogates, found), indent=1))
    report(surrogates, found)
    noise(surrogates, found)


def _measured(directory: Path | None, repetitions: int) -> tuple[Surrogates, list[Instance]]:
    with tempfile.TemporaryDirectory() as temporary:
        home = directory or Path(temporary)
        launcher = find_launcher()
        ranks = tuple(sorted({instance[0] for instance in INSTANCES}))
        surrogates = Surrogates(choose(measure(launcher, Measuring(home, ranks), print)))
        found = []
        for ranks_now, size, block in INSTANCES:
            access = Access(ranks_now, 1, size, block)
            print(f"running {ranks_now} ranks x {format_size(size)} in {format_size(block)}", flush=True)
            bench = Bench(launcher, home, repetitions)
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
        access = instance.access
        name = f"{access.ranks} x {format_size(access.bytes_per_rank)} in {format_size(access.block_bytes)}"
        cells = [f"{row[m].speedup:.2f} ({row[m].choice}{' WORSE' if row[m].worse else ''})" for m in METHODS]
        print(f"| {name} | " + " | ".join(cells) + " |")
    means = {method: geomean([row[method].speedup for row in scores]) for method in METHODS}
    print("| geomean | " + " | ".join(f"{means[method]:.3f}" for method in METHODS) + " |")
    for method in ("advice", "hybrid"):
        print(f"\n{method} / rule {means[method] / means['rule']:.3f}")


def noise(surrogates: Surrogates, found: list[Instance]) -> None:
    rows = profile_study(surrogates.profile, [one.access for one in found], SIGMAS, repetitions=3)
    print("\nNoise in every element of the profile: how like the clean ranking, and what the choice costs\n")
    print("| sigma | rank correlation | regret |\n|---|---|---|")
    for row in rows:
        print(f"| {row.sigma:g} | {row.rank_correlation:.3f} | {row.regret:.3f} |")


def _raw(surrogates: Surrogates, found: list[Instance]) -> dict[str, object]:
    rows = [
        {
            "ranks": one.access.ranks,
            "bytes_per_rank": one.access.bytes_per_rank,
            "block_bytes": one.access.block_bytes,
            "seconds": {trial.candidate.name: trial.seconds for trial in one.trials},
        }
        for one in found
    ]
    return {"profile": json.loads(save_text(surrogates.profile)), "instances": rows}


def _loaded(path: Path) -> tuple[Surrogates, list[Instance]]:
    document = json.loads(path.read_text())
    found = []
    for row in document["instances"]:
        access = Access(row["ranks"], 1, row["bytes_per_rank"], row["block_bytes"])
        options = {option.name: option for option in candidates(access)}
        trials = tuple(Trial(options[name], tuple(seconds)) for name, seconds in row["seconds"].items())
        found.append(Instance(access, trials))
    return Surrogates(choose(validate(document["profile"], Profile, str(path)))), found


if __name__ == "__main__":
    main()
