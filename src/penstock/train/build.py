"""Builds the content of a model file from fits, with the provenance needed to check it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from penstock import __version__
from penstock.predict import modelfile
from penstock.predict.model import Model
from penstock.spaces import LUSTRE
from penstock.train.apply import run_names
from penstock.train.fit import BLUR, Fit, Recipe
from penstock.train.samples import GAIN, TAU
from penstock.train.table import TraceTable


def build_model(fits: Sequence[Fit], table: TraceTable, recipe: Recipe, origin: str) -> Model:
    """The model as its file will hold it; equal data, recipe and origin give an equal file."""
    directions = {fit.part.direction: fit.part for fit in fits}
    provenance = {
        "origin": origin,
        "penstock": __version__,
        "lightgbm": _lightgbm_version(),
        "rows": len(table),
        "rows_sha256": _fingerprint(table),
        "runs": run_names(table),
        "label": f"bytes per second above {GAIN} times the interval before",
        "tau": TAU,
        **({"blur_log2": {name: BLUR[name] for name in directions}} if recipe.soft else {}),
        "features": recipe.features.name,
        "labels": "soft" if recipe.soft else "hard",
        "calibrated": recipe.calibrated,
        "folds": recipe.folds,
        "boosting": {name: asdict(recipe.boosting[name]) for name in directions},
    }
    knobs = {knob: LUSTRE[knob].values for knob in ("pages", "flight")}
    draft = Model(directions, LUSTRE.name, knobs, provenance, "")
    return modelfile.parse(modelfile.dump(draft), "the fitted model")


def _lightgbm_version() -> str:
    from importlib.metadata import version

    return version("lightgbm")


def _fingerprint(table: TraceTable) -> str:
    keys = np.stack([table.iteration, table.ost, table.observation_no])
    content = hashlib.sha256("\n".join(table.workload.tolist()).encode())
    content.update(keys.tobytes())
    content.update(np.ascontiguousarray(table.values).tobytes())
    return content.hexdigest()
