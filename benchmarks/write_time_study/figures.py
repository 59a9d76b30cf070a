"""The figures of a study: Table VII, Fig. 4 and adaptation, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from benchmarks.write_time_study.campaign import TEST_SCALES, WritePath, measure_campaign
from benchmarks.write_time_study.study import METHODS, Study
from benchmarks.write_time_study.tables import set_masks

from penstock.plan.storage import load_system
from penstock.plan.write.accuracy import Floats, measure
from penstock.plan.write.adapt import adapt
from penstock.plan.write.prediction import WriteModel
from penstock.plan.write.published import published_model
from penstock.plan.write.techniques import COMPARED

# Runs before and after whose means tell the true gain in the simulation.
TRUE_RUNS = 24
#: The paper's marks of Fig. 7.
MARKS = {"cetus": 1.1, "titan": 1.15}


def published_seconds(study: Study) -> Floats:
    """The published coefficients asked about the test samples."""
    return np.array(published_model(study.system).seconds(study.system, list(study.test.patterns)))


def table_seven(study: Study, *, whole: bool) -> dict[str, dict[str, list[float]]]:
    """Shares within 20 and 30 % and the number of samples, by model and set. Not `whole`: published and lasso."""
    samples = study.test.samples
    rows = {"published coefficients": published_seconds(study)}
    for method in METHODS:
        for technique in COMPARED if whole else ("lasso",):
            rows[f"{method}: {technique}"] = study.model(method, technique).predict_samples(samples)
        rows[f"{method}: lasso, base"] = study.model(method, "lasso", "base").predict_samples(samples)
    if whole:
        rows["present: stack"] = study.stack().predict_samples(samples)
        rows |= {f"kernel: {name}": one.predict_samples(samples) for name, one in study.kernels().items()}
    return {
        name: {
            label: _shares(predicted[mask], samples.seconds[mask])
            for label, mask in set_masks(samples).items()
        }
        for name, predicted in rows.items()
    }


def _shares(predicted: Floats, seconds: Floats) -> list[float]:
    found = measure(predicted, seconds)
    return [100 * found.within_20, 100 * found.within_30, found.samples]


def figure_four(study: Study, method: str, techniques: tuple[str, ...]) -> dict[str, Any]:
    """Mean square errors on test samples of the chosen and the base model, and how they were chosen."""
    samples = study.test.samples
    found: dict[str, Any] = {}
    for technique in techniques:
        chosen = study.chosen[method, technique]
        said = {
            which: study.model(method, technique, which).predict_samples(samples)
            for which in ("best", "base")
        }
        found[technique] = {
            "scales": list(chosen.best.scales),
            "held_out": [chosen.best.error, chosen.base.error],
            "test_mse": {
                name: [measure(said[which][mask], samples.seconds[mask]).mse for which in ("best", "base")]
                for name, mask in (("converged", samples.converged), ("unconverged", ~samples.converged))
            },
        }
    return found


def adaptation(study: Study, models: Mapping[str, WriteModel]) -> dict[str, dict[str, list[float]]]:
    """Predicted gains of the advice for the converged test samples, and true ones in the simulation.

    Predicted as the paper does, from the observed time and the model's error on it; the time to move the data counts.
    """
    path = WritePath(study.system)
    found = {}
    for name, model in models.items():
        rng = np.random.default_rng(5)
        predicted, true = [], []
        for pattern, sample in zip(study.test.patterns, study.test.runs, strict=True):
            if not sample.converged:
                continue
            advice = adapt(model, study.system, pattern, sample.mean_s)
            before = path.mean(pattern, TRUE_RUNS, rng)
            after = path.mean(advice.pattern, TRUE_RUNS, rng) + advice.move_s if advice.changed else before
            predicted.append(advice.speedup)
            true.append(before / after)
        found[name] = {"predicted": predicted, "true": true}
    return found


def figure_seven(name: str, per_scale: int, seed: int) -> dict[str, float]:
    """Shares, in per cent, of converged test samples whose gain by the published coefficients reaches the mark.

    `as_printed` leaves out the time to move the data, as the paper says it did; `with_moves` counts it.
    """
    path = WritePath(load_system(name))
    test = measure_campaign(path, TEST_SCALES, per_scale, seed + 1)
    model = published_model(path.system)
    settled = [
        (pattern, run.mean_s) for pattern, run in zip(test.patterns, test.runs, strict=True) if run.converged
    ]
    shares = {
        key: above([adapt(model, path.system, *each, free_moves=free).speedup for each in settled], name)
        for key, free in (("as_printed", True), ("with_moves", False))
    }
    return {"seed": seed, "samples": len(settled), **shares}


def above(gains: list[float], system: str) -> float:
    """The share of samples, in per cent, that gain at least the paper's mark."""
    return float(100 * np.mean(np.array(gains) >= MARKS[system]))
