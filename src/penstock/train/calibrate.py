"""Calibration: a logistic curve turns scores into probabilities, fitted on samples not trained on."""

from __future__ import annotations

import numpy as np

from penstock.predict.trees.forest import Floats
from penstock.train.judge import Labels

# A very weak prior towards (1, 0) keeps the result finite for separable or tiny samples.
_PRIOR = 1e-3
_CENTRE = np.array([1.0, 0.0])


def calibrate(score: Floats, label: Labels, rounds: int = 50) -> tuple[float, float]:
    """Slope and intercept that make 1 / (1 + exp(-(slope * score + intercept))) most likely; slope > 0.

    Newton's method; a step that overshoots is halved. Scores that order samples the wrong way are left as they are,
    because no curve can correct them.
    """
    design = np.stack([score, np.ones_like(score)], axis=-1)
    weight, loss = _CENTRE, _loss(design, label, _CENTRE)
    for _ in range(rounds):
        p = 1.0 / (1.0 + np.exp(-np.clip(design @ weight, -500.0, 500.0)))
        gradient = design.T @ (p - label) + _PRIOR * (weight - _CENTRE)
        curvature = (design * (p * (1 - p))[:, None]).T @ design + _PRIOR * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        while _loss(design, label, weight - step) > loss and np.abs(step).max() > 1e-12:
            step = step / 2
        weight = weight - step
        loss = _loss(design, label, weight)
        if np.abs(step).max() < 1e-10:
            break
    slope, intercept = (float(value) for value in weight)
    return (slope, intercept) if slope > 1e-3 and np.isfinite(weight).all() else (1.0, 0.0)


def _loss(design: Floats, label: Labels, weight: Floats) -> float:
    margin = np.where(label, 1.0, -1.0) * (design @ weight)
    return float(np.logaddexp(0.0, -margin).sum() + _PRIOR / 2 * ((weight - _CENTRE) ** 2).sum())
