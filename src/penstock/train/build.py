"""Builds the content of a model file from fits, with the provenance needed to check it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from penstock import __version__
from penstock.predict import modelfile
from penstock.predict.model import Model
from penstock.train.fit import BLUR, Fit, Recipe
from penstock.train.fitdata import SampleSource
from penstock.train.samples import APPLICATION, GAIN, TAU, WIRE

LABELS = {
    WIRE: f"bytes per second above {GAIN} times the interval before",
    APPLICATION: f"bytes per second of applications above {GAIN} times those under the setting held before",
}


def build_model(fits: Sequence[Fit], source: SampleSource, recipe: Recipe, origin: str) -> Model:
    """The model as its file will hold it; equal data, recipe and origin give an equal file."""
    directions = {fit.part.direction: fit.part for fit in fits}
    provenance = {
        "origin": origin,
        "penstock": __version__,
        "lightgbm": _lightgbm_version(),
        "rows": source.rows,
        "rows_sha256": source.sha256,
        "runs": list(source.runs),
        "label": LABELS[recipe.label],
        "tau": TAU,
        **({"blur_log2": {name: BLUR[name] for name in directions}} if recipe.soft else {}),
        "features": recipe.features.name,
        "labels": "soft" if recipe.soft else "hard",
        "calibrated": recipe.calibrated,
        "folds": recipe.folds,
        "boosting": {name: asdict(recipe.boosting[name]) for name in directions},
    }
    draft = Model(directions, source.space, source.knobs, provenance, "")
    return modelfile.parse(modelfile.dump(draft), "the fitted model")


def _lightgbm_version() -> str:
    from importlib.metadata import version

    return version("lightgbm")
