"""The collective paper's Figs. 4 to 11 on a Blue Gene/Q calibrated to its counts: no measurement.

usage: ./run bench collective_bgq [--campaigns 10] [--repetitions 10] [--write]
       ./run bench collective_bgq --render    all tables of the last run; nothing is measured

All tables are printed. `--write` keeps the figures and their picture beside docs/explanation/collective.md. What the
calibration was given, and what is a prediction, is said in the tables.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.collective_study.bgq_study import (
    METHODS,
    SIGMAS,
    Buckets,
    buckets,
    campaigns,
    noise_study,
    training_study,
    uniform_over_aware,
)
from benchmarks.collective_study.calibrate import DRAWS, WANTED, first_over_later, mean_counts, whole_grid

from penstock.plan.collective.bgq.calibrated import VESTA
from penstock.plan.collective.bgq.operations import NODE_COUNTS, BgqTerm, configurations

DOCS = Path(__file__).parent.parent / "docs" / "explanation"
FIGURES, PICTURE = DOCS / "collective" / "bgq.json", DOCS / "collective" / "bgq.png"
#: Fig. 8, as the paper counts it: above 1.5x, 1.1x to 1.5x, worse than the default.
PAPER: Mapping[str, tuple[int | None, int | None, int | None]] = {
    "random": (2, None, 18),
    "ml": (6, 5, 5),
    "hybrid": (6, 11, 2),
}
NOISY = (*SIGMAS[:5], 3.0, 7.0)
FIG_7 = (
    "near-optimal default",
    "up to 1.5x",
    "1.5x to 2.5x",
    "2.5x to 3x",
    "more than 3x",
    "chance is worse",
)
#: Noise multiplies the work, so it is studied on fewer campaigns and repetitions.
NOISE_CAMPAIGNS, NOISE_REPETITIONS = 3, 5


def measured(count: int, repetitions: int) -> dict[str, Any]:
    """All figures."""
    runs = campaigns(count)
    few = runs[:NOISE_CAMPAIGNS]
    return {
        "campaigns": count,
        "repetitions": repetitions,
        "fig_4": first_throughput(),
        "fig_5": first_over_later(VESTA).tolist(),
        "fig_6": uniform_over_aware().tolist(),
        "fig_7": {
            "calibrated": mean_counts(VESTA, whole_grid(), range(DRAWS)).tolist(),
            "other_draws": mean_counts(VESTA, whole_grid(), range(100, 100 + count)).tolist(),
        },
        "fig_8": {method: shown(buckets(method, runs, repetitions)) for method in METHODS},
        "fig_10": {str(points): shown(found) for points, found in training_study(runs, repetitions).items()},
        "fig_11": {
            f"{sigma:g}": {method: shown(found) for method, found in each.items()}
            for sigma, each in noise_study(few, NOISE_REPETITIONS, NOISY).items()
        },
    }


def first_throughput() -> float:
    """Fig. 4: 544 processes on 512 nodes write 16 MB each: the first round's throughput over that of later ones."""
    first, later = VESTA.seconds([BgqTerm(kind, 1, 512, 544, 1, 16 * 10**6) for kind in ("lock", "full")])
    return float(later / first)


def shown(found: Buckets) -> dict[str, Any]:
    return {
        "above_1.5": found.above_1_5,
        "above_1.1": found.above_1_1,
        "worse": found.worse,
        "geomean": found.geomean,
        "quantiles": found.quantiles,
    }


def _compared(found: Mapping[str, Any]) -> str:
    """How the methods compare, which is predicted, and what they were calibrated to."""
    parts = [
        "Fig. 7, instances of 33. The calibration was given the paper's line and nothing else but Fig. 5:",
        _table(
            ["", *FIG_7],
            [
                ["paper", *map(str, WANTED)],
                ["draws it was calibrated on", *_tenths(found["fig_7"]["calibrated"])],
                ["other draws", *_tenths(found["fig_7"]["other_draws"])],
            ],
        ),
        f"Fig. 8, instances of 33 by the mean speedup over {found['repetitions']} repetitions; means over "
        f"{found['campaigns']} draws, with the extremes. "
        "Chance being worse was calibrated, all else is **predicted**:",
        _table(
            [
                "method",
                "> 1.5x",
                "paper",
                "1.1x to 1.5x",
                "paper",
                "worse than the default",
                "paper",
                "geometric mean",
            ],
            [_method(name, each) for name, each in found["fig_8"].items()],
        ),
    ]
    return "\n\n".join(parts)


def tables(found: Mapping[str, Any]) -> str:
    """All figures as Markdown."""
    parts = [
        _compared(found),
        "Fig. 9, quantiles of all speedups:",
        _table(
            ["method", "5 %", "25 %", "50 %", "75 %", "95 %"],
            [[name, *(f"{q:.2f}" for q in each["quantiles"])] for name, each in found["fig_8"].items()],
        ),
        "Fig. 10, pure learning from fewer runs (the paper: ever worse, half are better than the default with 33):",
        _table(
            ["runs", "geometric mean", "25 %", "50 %", "worse than the default"],
            [
                [
                    points,
                    f"{each['geomean']:.3f}",
                    *(f"{q:.2f}" for q in each["quantiles"][1:3]),
                    _range(each["worse"]),
                ]
                for points, each in found["fig_10"].items()
            ],
        ),
        "Fig. 11, geometric mean of the speedup, and instances worse than the default, with noise in what is learned "
        f"from ({NOISE_CAMPAIGNS} draws, {NOISE_REPETITIONS} repetitions). The paper has one noisy time an element:",
        _table(
            ["sigma", *next(iter(found["fig_11"].values()))],
            [
                [sigma, *(f"{one['geomean']:.3f}, {one['worse'][0]:.1f}" for one in each.values())]
                for sigma, each in found["fig_11"].items()
            ],
        ),
        f"Fig. 4: the first round has {found['fig_4']:.2f} of later rounds' throughput (512 nodes, 544 writers, "
        "16 MB). "
        "Figs. 5 and 6, seconds of the first round over later ones, and gain of topology-aware aggregators:",
        _table(
            ["nodes", *(f"{one.per_pset} x {one.buffer_bytes // 10**6} MB" for one in configurations())],
            [
                [str(nodes), *(f"{a:.2f}, {b:.2f}" for a, b in zip(first, far, strict=True))]
                for nodes, first, far in zip(NODE_COUNTS, found["fig_5"], found["fig_6"], strict=True)
            ],
        ),
    ]
    return "\n\n".join(parts)


def _method(name: str, each: Mapping[str, Any]) -> list[str]:
    said = PAPER.get(name, (None, None, None))
    keys = ("above_1.5", "above_1.1", "worse")
    pairs = [
        cell
        for key, paper in zip(keys, said, strict=True)
        for cell in (_range(each[key]), "" if paper is None else str(paper))
    ]
    return [name, *pairs, f"{each['geomean']:.3f}"]


def _range(three: Sequence[float]) -> str:
    mean, low, high = three
    return f"{mean:.1f} [{low:g}, {high:g}]"


def _tenths(values: Sequence[float]) -> list[str]:
    return [f"{value:.1f}" for value in values]


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def plot(found: Mapping[str, Any], path: Path) -> None:
    from penstock.plan.write.error_plots import COLOURS, canvas, save

    figure, (axes,) = canvas(1, 7.0, 4.0)
    places = list(range(len(found["fig_11"])))
    for colour, method in zip(COLOURS, next(iter(found["fig_11"].values())), strict=False):
        means = [each[method]["geomean"] for each in found["fig_11"].values()]
        axes.plot(places, means, "o-", label=method, color=colour)
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.set_xticks(places, list(found["fig_11"]))
    axes.set(
        xlabel="noise sigma in the training data",
        ylabel="geomean speedup over default",
        title="Calibrated Blue Gene/Q",
    )
    axes.legend()
    save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--campaigns", type=int, default=10)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--render", action="store_true", help="from the figures of the last run")
    given = parser.parse_args()
    if given.render:
        kept = json.loads(FIGURES.read_text("utf-8"))
        print(tables(kept))
        return
    found = measured(given.campaigns, given.repetitions)
    print(tables(found))
    if given.write:
        FIGURES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        plot(found, PICTURE)


if __name__ == "__main__":
    main()
