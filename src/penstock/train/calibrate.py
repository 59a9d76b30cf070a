"""Making probabilities mean what they say: a logistic curve through scores of samples not trained on."""

from __future__ import annotations

import numpy as np

from penstock.predict.trees.forest import Floats
from penstock.train.judge import Labels


def calibrate(score: Floats, label: Labels, rounds: int = 50) -> tuple[float, float]:
    """Slope and intercept for which 1 / (1 + exp(-(slope * score + intercept))) is most likely; slope > 0.

    Newton's method on two parameters with a whisper of a prior towards (1, 0), so that separable or tiny
    samples still give finite numbers.
    """
    weight = np.array([1.0, 0.0])
    design = np.stack([score, np.ones_like(score)], axis=-1)
    prior, centre = 1e-3, np.array([1.0, 0.0])
    for _ in range(rounds):
        p = 1.0 / (1.0 + np.exp(-np.clip(design @ weight, -500.0, 500.0)))
        gradient = design.T @ (p - label) + prior * (weight - centre)
        curvature = (design * (p * (1 - p))[:, None]).T @ design + prior * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        weight = weight - step
        if np.abs(step).max() < 1e-10:
            break
    slope, intercept = (float(value) for value in weight)
    return (slope, intercept) if slope > 1e-3 and np.isfinite(weight).all() else (1.0, 0.0)
