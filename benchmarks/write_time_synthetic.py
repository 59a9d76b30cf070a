"""The write-time study on synthetic campaigns: does the method find what a simulated write path hides in it?

Self-consistency, not evidence about real machines. Prints Markdown tables and writes PNG figures.

    ./run bench write_time_synthetic --out docs/explanation/write-time
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from benchmarks.write_time_study import plots
from benchmarks.write_time_study.campaign import (
    TEST_SCALES,
    TRAINING_SCALES,
    Campaign,
    WritePath,
    measure_campaign,
)
from benchmarks.write_time_study.tables import refit, set_masks

from penstock.plan.storage import StorageSystem, load_system
from penstock.plan.write import error_plots
from penstock.plan.write.accuracy import measure, relative_errors
from penstock.plan.write.adapt import adapt
from penstock.plan.write.contributions import linear_terms
from penstock.plan.write.fitted import FittedModel, fit_model
from penstock.plan.write.scale_search import ScaleSearch, search
from penstock.plan.write.techniques import COMPARED, DEFAULTS, KERNELS
from penstock.plan.write.write_samples import WriteSamples

Floats = npt.NDArray[np.float64]
PUBLISHED = {
    "cetus": {
        "small": (99.64, 100.0),
        "medium": (74.14, 90.8),
        "large": (76.69, 93.98),
        "unconverged": (44.97, 63.91),
    },
    "titan": {
        "small": (96.2, 98.31),
        "medium": (93.36, 94.69),
        "large": (82.42, 84.25),
        "unconverged": (12.78, 20.56),
    },
}
KERNEL_SAMPLES = 1500
THRESHOLDS = {"cetus": 1.1, "titan": 1.15}
PAPER_SHARE = {"cetus": 82.4, "titan": 71.6}


@dataclass(frozen=True)
class Study:
    system: StorageSystem
    training: Campaign
    test: Campaign
    searches: Mapping[str, ScaleSearch]
    best: Mapping[str, FittedModel]
    base: Mapping[str, FittedModel]


def run_study(name: str, per_scale: int, per_test_scale: int) -> Study:
    path = WritePath(load_system(name))
    begin = time.perf_counter()
    training = measure_campaign(path, TRAINING_SCALES, per_scale, seed=1)
    test = measure_campaign(path, TEST_SCALES, per_test_scale, seed=2)
    samples = training.samples.take(training.samples.converged)
    print(f"{name}: campaigns in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    begin, worked = time.perf_counter(), time.process_time()
    searches = {}
    for technique in COMPARED:
        searches[technique] = search(samples, technique)
        print(f"{name}: {technique} done at {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    taken = time.perf_counter() - begin
    trials = sum(len(found.trials) for found in searches.values())
    worked = time.process_time() - worked
    print(f"\n`{name}`: {trials} models, {len(samples)} samples: {taken:.0f} s, {worked:.0f} s of work.")
    best = {technique: refit(samples, found.best) for technique, found in searches.items()}
    base = {technique: refit(samples, found.base) for technique, found in searches.items()}
    return Study(path.system, training, test, searches, best, base)


def table_of_models(study: Study) -> None:
    print(f"\n#### {study.system.title}: chosen models\n")
    print("| technique | chosen scales | validation MSE, chosen / base |\n|---|---|---|")
    for technique, found in study.searches.items():
        scales = ", ".join(map(str, found.best.scales))
        print(f"| {technique} | {scales} | {found.best.error:.4g} / {found.base.error:.4g} |")


def table_seven(study: Study) -> None:
    samples = study.test.samples
    masks = set_masks(samples)
    print(f"\n#### {study.system.title}: share of samples within 20 % / 30 %\n")
    print("| model | " + " | ".join(f"{name} ({int(mask.sum())})" for name, mask in masks.items()) + " |")
    print("|---" * (len(masks) + 1) + "|")
    published = PUBLISHED[study.system.name]
    print(
        "| *paper's lasso, real machine* | " + " | ".join(f"{a} / {b}" for a, b in published.values()) + " |"
    )
    rows = {f"{technique}, chosen": model for technique, model in study.best.items()}
    rows |= {"lasso, base": study.base["lasso"]} | kernel_models(study)
    for name, model in rows.items():
        predicted = model.predict_samples(samples)
        found = [measure(predicted[mask], samples.seconds[mask]) for mask in masks.values()]
        print(
            f"| {name} | "
            + " | ".join(f"{100 * f.within_20:.1f} / {100 * f.within_30:.1f}" for f in found)
            + " |"
        )


def kernel_models(study: Study) -> dict[str, FittedModel]:
    """Kernel machines on a random part of the samples: their cost grows with the cube."""
    samples = study.training.samples.take(study.training.samples.converged)
    part = np.zeros(len(samples), dtype=np.bool_)
    part[np.random.default_rng(3).permutation(len(samples))[:KERNEL_SAMPLES]] = True
    few = samples.take(part)
    return {
        f"{name}, {KERNEL_SAMPLES} samples": fit_model(name, name, DEFAULTS[name], few) for name in KERNELS
    }


def figure_four(study: Study, out: Path) -> None:
    samples = study.test.samples
    panels: dict[str, dict[str, tuple[float, float]]] = {}
    print(f"\n#### {study.system.title}: test MSE of base over chosen\n")
    print("| test samples | " + " | ".join(COMPARED) + " |\n" + "|---" * (len(COMPARED) + 1) + "|")
    for name, mask in (("converged", samples.converged), ("unconverged", ~samples.converged)):
        truth = samples.seconds[mask]
        panels[name] = {
            technique: (
                measure(study.best[technique].predict_samples(samples)[mask], truth).mse,
                measure(study.base[technique].predict_samples(samples)[mask], truth).mse,
            )
            for technique in COMPARED
        }
        print(
            f"| {name} | " + " | ".join(f"{base / best:.2f}" for best, base in panels[name].values()) + " |"
        )
    title = f"{study.system.title}, synthetic campaign"
    plots.mse_bars(panels, out / f"mse-{study.system.name}.png", title)


def figure_five(study: Study, out: Path) -> None:
    samples = study.test.samples
    panels = {}
    for name, mask in list(set_masks(samples).items())[:3]:
        truth = samples.seconds[mask]
        panels[f"{name} ({truth.size})"] = {
            technique: (truth, relative_errors(model.predict_samples(samples)[mask], truth))
            for technique, model in study.best.items()
        }
    title = f"{study.system.title}, synthetic campaign: chosen models"
    error_plots.signed_errors(panels, out / f"errors-{study.system.name}.png", title)


def adaptation(study: Study) -> tuple[list[float], list[float]]:
    """Predicted and true simulated gains of the advice for the converged test samples."""
    path, model, rng = WritePath(study.system), study.best["lasso"], np.random.default_rng(5)
    predicted, true = [], []
    for pattern, sample in zip(study.test.patterns, study.test.runs, strict=True):
        if not sample.converged:
            continue
        advice = adapt(model, study.system, pattern, sample.mean_s)
        before = path.mean(pattern, 24, rng)
        after = path.mean(advice.pattern, 24, rng) + advice.move_s if advice.changed else before
        predicted.append(advice.speedup)
        true.append(before / after)
    return predicted, true


def table_gains(study: Study, gains: tuple[list[float], list[float]]) -> None:
    name = study.system.name
    for label, values in (("predicted", gains[0]), ("true in simulation", gains[1])):
        array = np.array(values)
        share, slower = 100 * np.mean(array >= THRESHOLDS[name]), 100 * np.mean(array < 0.98)
        print(
            f"| {study.system.title} | {label} | {array.size} | {share:.1f} % (>= {THRESHOLDS[name]}x; paper "
            f"{PAPER_SHARE[name]} %) | {np.median(array):.2f} | {array.max():.1f} | {slower:.1f} % |"
        )


def stage_shares(model: FittedModel, samples: WriteSamples) -> dict[str, float]:
    """The mean absolute seconds of each stage in a linear model; a product counts half for either factor."""
    _, slopes = linear_terms(model.pipeline)
    weight = np.abs(slopes * samples.matrix(model.features)).mean(axis=0)
    shares: dict[str, float] = {}
    for feature, seconds in zip(model.features, weight, strict=True):
        owners = owners_of(feature)
        for owner in owners:
            shares[owner] = shares.get(owner, 0.0) + float(seconds) / len(owners)
    return shares


OWNERS = {
    "router": ("s_r", "n_r"),
    # A bridge node has one link: the two always carry the same.
    "bridge": ("s_b", "n_b", "s_l", "n_l"),
    "io_node": ("s_io", "n_io"),
    "server": ("s_oss", "n_oss", "n_nsds", "n_s"),
    "target": ("s_ost", "n_ost", "n_nsd", "n_d"),
}


def owners_of(feature: str) -> list[str]:
    """The stages whose load or resources a feature speaks of."""
    words = re.findall(r"[A-Za-z_]+", feature.removeprefix("interference:"))
    named = [owner for word in words for owner, symbols in OWNERS.items() if word in symbols]
    return named or (["network"] if "m" in words else ["node"])


def planted(name: str, per_scale: int) -> None:
    """Make one stage the slow one and ask the lasso where the time goes."""
    base = load_system(name)
    inner = ("bridge", "io_node") if base.kind == "gpfs" else ("router", "target")
    for stage in ("node", *inner, "network"):
        system = only_slow(base, stage)
        campaign = measure_campaign(WritePath(system), TRAINING_SCALES[3:], per_scale, seed=11)
        samples = campaign.samples.take(campaign.samples.converged)
        shares = stage_shares(fit_model("lasso", "lasso", DEFAULTS["lasso"], samples), samples)
        total = sum(shares.values())
        ranked = sorted(shares.items(), key=lambda item: -item[1])
        found = ", ".join(f"{owner} {100 * share / total:.0f} %" for owner, share in ranked[:3])
        print(f"| {base.title} | {stage} | {found} | {'yes' if ranked[0][0] == stage else 'NO'} |")


def only_slow(system: StorageSystem, stage: str) -> StorageSystem:
    """The system with one stage a fifth as fast and every other stage thirty times as fast."""
    service = system.service
    stages = {
        name: rate * (0.2 if name == stage else 30.0) for name, rate in service.stage_bytes_per_s.items()
    }
    others = {
        f"{name}_bytes_per_s": getattr(service, f"{name}_bytes_per_s") * (0.2 if name == stage else 30.0)
        for name in ("node", "network", "server", "target")
    }
    changed = service.model_copy(update={"stage_bytes_per_s": stages, **others})
    return system.model_copy(update={"service": changed})


def lasso_again(name: str, seed: int, per_scale: int, per_test_scale: int) -> None:
    """The lasso on a pair of seeds that nothing was tuned on."""
    path = WritePath(load_system(name))
    training = measure_campaign(path, TRAINING_SCALES, per_scale, seed).samples
    test = measure_campaign(path, TEST_SCALES, per_test_scale, seed + 1).samples
    settled = training.take(training.converged)
    found = search(settled, "lasso")
    for label, trial in (("chosen", found.best), ("base", found.base)):
        predicted = refit(settled, trial).predict_samples(test)
        sets = [measure(predicted[mask], test.seconds[mask]) for mask in set_masks(test).values()]
        cells = " | ".join(f"{100 * each.within_20:.1f} / {100 * each.within_30:.1f}" for each in sets)
        mse = measure(predicted[test.converged], test.seconds[test.converged]).mse
        print(f"| {name} {seed}, {seed + 1} | {label} | {cells} | {mse:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("write-time"))
    parser.add_argument("--per-scale", type=int, default=500)
    parser.add_argument("--per-test-scale", type=int, default=60)
    parser.add_argument("--lasso-seeds", type=int, nargs="*", help="only the lasso, on these seeds")
    given = parser.parse_args()
    if given.lasso_seeds:
        for name in ("cetus", "titan"):
            for seed in given.lasso_seeds:
                lasso_again(name, seed, given.per_scale, given.per_test_scale)
        return
    given.out.mkdir(parents=True, exist_ok=True)
    studies = [run_study(name, given.per_scale, given.per_test_scale) for name in ("cetus", "titan")]
    for study in studies:
        table_of_models(study)
        table_seven(study)
        figure_four(study, given.out)
        figure_five(study, given.out)
    ratios = {
        study.system.title: [max(run.times_s) / min(run.times_s) for run in study.training.runs]
        for study in studies
    }
    error_plots.variability_cdf(
        ratios, given.out / "variability-synthetic.png", "Identical runs, synthetic campaign"
    )
    print("\n#### Adaptation on 200 to 2,000 nodes\n")
    print("| system | gain | samples | share | median | largest | slower than before |")
    print("|---|---|---|---|---|---|---|")
    gains: dict[str, list[float]] = {}
    for study in studies:
        found = adaptation(study)
        table_gains(study, found)
        gains[f"{study.system.title}, predicted"], gains[f"{study.system.title}, true"] = found
    plots.gain_cdf(gains, given.out / "gains.png", "Advice on 200 to 2,000 nodes, synthetic campaign")
    print("\n#### Planted bottlenecks\n")
    print("| system | slow stage | lasso's seconds by stage | found |\n|---|---|---|---|")
    for name in ("cetus", "titan"):
        planted(name, given.per_scale // 4)


if __name__ == "__main__":
    main()
