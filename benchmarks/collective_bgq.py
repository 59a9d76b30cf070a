"""The paper's Blue Gene/Q studies on a made-up machine: self-consistency, no measurement."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.collective_study.bgq import BgqSwitches, configurations, grid
from benchmarks.collective_study.bgq_study import StudyRow, noise_study, run_time, training_study, true_times
from benchmarks.collective_study.compare import geomean


def show(title: str, rows: list[StudyRow]) -> None:
    print(f"\n{title}\n")
    print("| method | setting | geomean over default | worse than default, of 33 | rank correlation |")
    print("|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row.method} | {row.setting} | {row.geomean_speedup:.3f} | {row.worse_than_default:.1f} "
            f"| {row.rank_correlation:.3f} |"
        )


def switches() -> None:
    print("\nSwitches of the model: mean seconds over the grid relative to the full model\n")
    print("| locking | aggregators | ratio |\n|---|---|---|")
    base = [run_time(instance, hints) for instance in grid() for hints in configurations()]
    for locking in (True, False):
        for aware in (True, False):
            with_switch = BgqSwitches(locking, aware)
            now = [
                run_time(instance, hints, with_switch) for instance in grid() for hints in configurations()
            ]
            ratio = geomean([b / a for a, b in zip(base, now, strict=True)])
            print(
                f"| {'on' if locking else 'off'} | {'topology-aware' if aware else 'uniform'} | {ratio:.3f} |"
            )


def plot(rows: list[StudyRow], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    for method in ("hybrid", "ml"):
        chosen = [row for row in rows if row.method == method]
        axes.plot(
            [row.setting.split()[1] for row in chosen],
            [row.geomean_speedup for row in chosen],
            "o-",
            label=method,
        )
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.set(
        xlabel="noise sigma in the training data",
        ylabel="geomean speedup over default",
        title="Made-up BG/Q grid",
    )
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    truth = true_times()
    print(
        f"Self-consistency on a made-up machine: {truth.shape[0]} instances x {truth.shape[1]} configurations"
    )
    rows = noise_study(arguments.repetitions)
    show("Noise", rows)
    show("Training runs", training_study(arguments.repetitions))
    switches()
    if arguments.plot:
        plot(rows, arguments.plot)


if __name__ == "__main__":
    main()
